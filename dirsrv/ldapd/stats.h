/* SPDX-License-Identifier: MIT */
/* One line of statistics each second. */
#ifndef LDAPD_STATS_H
#define LDAPD_STATS_H

#include "ops/server.h"

#include <stdint.h>

/* The counters of the line before. */
struct stats_line {
	uint64_t at_ns;
	uint64_t operations, searches, entries, bytes_out, busy;
};

/* stats_print: write a line of what happened since the last call. The first call only starts. */
void stats_print(struct stats_line *line, const struct server *server);

#endif /* LDAPD_STATS_H */
