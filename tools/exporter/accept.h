/* SPDX-License-Identifier: MIT */
#pragma once

#include "openmetrics.h"

/* accept_format: the format for a client with this Accept header (NULL: it has none):
 * OpenMetrics when it accepts version 1.0.0 and does not prefer text/plain,
 * else the classic format, which every client reads. */
enum exposition accept_format(const char *accept);
