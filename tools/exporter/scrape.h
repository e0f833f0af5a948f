/* SPDX-License-Identifier: MIT */
/*
 * A scrape: find the processes, query each, store the numbers. One scrape runs at a time. It
 * never takes longer than its timeout, whatever the processes do.
 */
#pragma once

#include "openmetrics.h"
#include "settings.h"

#include <poll.h>

/* The most descriptors that a scrape waits for. */
#define SCRAPE_FDS 64

struct scrape;

/* scrape_open: NULL: no memory. The settings must stay valid. */
struct scrape *scrape_open(const struct settings *settings);
void scrape_close(struct scrape *scrape);

/* scrape_is_fresh: is the last scrape recent enough to use its numbers? */
bool scrape_is_fresh(const struct scrape *scrape);

/* scrape_start: start a scrape unless one runs. */
void scrape_start(struct scrape *scrape);
bool scrape_is_running(const struct scrape *scrape);

/* scrape_fds: the descriptors to wait for, at most SCRAPE_FDS, and the most milliseconds to
 * wait (-1: no limit). Then scrape_step() reads the available data; true: the scrape has
 * ended. */
size_t scrape_fds(const struct scrape *scrape, struct pollfd *fds, int *timeout);
bool scrape_step(struct scrape *scrape);

/* scrape_write: write the last scrape's numbers, and the exporter's own. */
void scrape_write(const struct scrape *scrape, FILE *out, enum exposition exposition);
