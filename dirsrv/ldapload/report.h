/* SPDX-License-Identifier: MIT */
/* What a run measured: a progress line, then a table or JSON. */
#ifndef LDAPLOAD_REPORT_H
#define LDAPLOAD_REPORT_H

#include "args.h"

#include <stdio.h>

struct tally;

struct results {
	const struct args *args;
	const struct tally *tally; /* of all threads */
	double seconds;     /* of the measured run */
	unsigned idle_lost;
};

/* report_unexpected: operations and connections that did not end as they must. */
uint64_t report_unexpected(const struct results *results);

/* report_print: as a table, or as JSON. */
void report_print(FILE *out, const struct results *results);

/* report_progress: one line, drawn over the last one: what is done of `total` seconds or
 * operations. report_progress_end: remove it. */
void report_progress(FILE *out, double done, double total, double rate, uint64_t unexpected);
void report_progress_end(FILE *out);

#endif /* LDAPLOAD_REPORT_H */
