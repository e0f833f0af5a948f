/* SPDX-License-Identifier: MIT */
/* The work of a scrape's children; each function runs in a job (job.h). */
#pragma once

#include "scrape.h"

/* The most processes that are queried, those with a socket first. */
#define MOST_FOUND 8192

#define SENTENCE 512

struct found {
	pid_t pid;
	bool unseen; /* it may have no caches */
	uint64_t started;
	char command[METRICS_NAME];
};

struct question {
	const struct settings *settings;
	struct found process;
};

/* The first byte that a querying child writes. */
#define ANSWER_METRICS 'm'  /* a struct metrics, its caches, names of types (known_types.h) */
#define ANSWER_SENTENCE 's' /* an error message */
#define ANSWER_NOTHING 'n'  /* it has no caches */

/* find_processes: find the processes of these settings; writes an array of struct found. */
void find_processes(const void *settings, int fd);

/* query_process: query a process; writes an answer as above. */
void query_process(const void *question, int fd);
