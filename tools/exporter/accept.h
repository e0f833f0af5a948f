/* SPDX-License-Identifier: MIT */
#ifndef EXPORTER_ACCEPT_H
#define EXPORTER_ACCEPT_H

#include "openmetrics.h"

/* accept_format: the format for a client with this Accept header (NULL: it has none):
 * OpenMetrics when it accepts version 1.0.0 and does not prefer text/plain,
 * else the classic format, which every client reads. */
enum exposition accept_format(const char *accept);

#endif /* EXPORTER_ACCEPT_H */
