/* SPDX-License-Identifier: MIT */
/* What the children of a scrape do: each is the work of a job (job.h). */
#ifndef EXPORTER_SCRAPE_CHILD_H
#define EXPORTER_SCRAPE_CHILD_H

#include "scrape.h"

/* Processes that are asked at most, those with a socket first. */
#define MOST_FOUND 8192

#define SENTENCE 512

struct found {
	pid_t pid;
	bool unseen; /* it may have no caches */
	char command[METRICS_NAME];
};

struct question {
	const struct settings *settings;
	struct found process;
};

/* What stands first in what a child that asks writes. */
#define ANSWER_METRICS 'm'  /* a struct metrics, its caches and their counters */
#define ANSWER_SENTENCE 's' /* why there is none */
#define ANSWER_NOTHING 'n'  /* it has no caches */

/* find_processes: of these settings; writes an array of struct found. */
void find_processes(const void *settings, int fd);

/* ask_process: this question; writes an answer as above. */
void ask_process(const void *question, int fd);

#endif /* EXPORTER_SCRAPE_CHILD_H */
