/* SPDX-License-Identifier: MIT */
#ifndef EXPORTER_ACCEPT_H
#define EXPORTER_ACCEPT_H

#include "openmetrics.h"

/* accept_format: what a client gets whose Accept header is this (NULL: it has none):
 * OpenMetrics when it asks for version 1.0.0 and does not like text/plain better,
 * else the classic format, which everybody reads. */
enum exposition accept_format(const char *accept);

#endif /* EXPORTER_ACCEPT_H */
