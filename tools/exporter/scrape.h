/* SPDX-License-Identifier: MIT */
/*
 * A scrape: find the processes, query each of them, keep the numbers. There is one at
 * a time; it never takes longer than its timeout, whatever the processes do.
 */
#ifndef EXPORTER_SCRAPE_H
#define EXPORTER_SCRAPE_H

#include "openmetrics.h"
#include "settings.h"

#include <poll.h>
#include <stdio.h>

/* How many descriptors a scrape waits for at most. */
#define SCRAPE_FDS 64

struct scrape;

/* scrape_open: NULL when there is no memory. The settings stay where they are. */
struct scrape *scrape_open(const struct settings *settings);
void scrape_close(struct scrape *scrape);

/* scrape_is_fresh: the last one is so recent that its numbers will do. */
bool scrape_is_fresh(const struct scrape *scrape);

/* scrape_start: unless one is under way. */
void scrape_start(struct scrape *scrape);
bool scrape_is_running(const struct scrape *scrape);

/* scrape_fds: what to wait for, at most SCRAPE_FDS, and for how many milliseconds
 * at most (-1: no matter). Then scrape_step() takes what has come; it returns whether
 * it was the last step. */
size_t scrape_fds(const struct scrape *scrape, struct pollfd *fds, int *timeout);
bool scrape_step(struct scrape *scrape);

/* scrape_write: the last one's numbers, and the exporter's own. */
void scrape_write(const struct scrape *scrape, FILE *out, enum exposition exposition);

#endif /* EXPORTER_SCRAPE_H */
