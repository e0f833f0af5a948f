/* SPDX-License-Identifier: MIT */
/* What a thread counts, and the sum of all threads. */
#ifndef LDAPLOAD_TALLY_H
#define LDAPLOAD_TALLY_H

#include "args.h"
#include "histogram.h"

#include <stdatomic.h>
#include <stdbool.h>

#define OUTCOMES_MAX 64
#define TEXT_MAX 160

/* How often a kind of operations ended with a code. */
struct outcome {
	enum kind kind;
	int code;
	bool unexpected;
	uint64_t count;
	char text[TEXT_MAX]; /* the first diagnostic message */
};

struct tally {
	struct histogram latency[KIND_COUNT]; /* of measured operations */
	uint64_t in_time[KIND_COUNT];       /* of them, those answered before the end */
	uint64_t entries[KIND_COUNT];       /* that measured searches found */
	uint64_t last_ns;        /* when the last measured one was answered */
	struct outcome outcomes[OUTCOMES_MAX];
	unsigned outcome_count;
	/* For the progress; read by another thread. */
	atomic_ulong done, unexpected;
};

/* tally_accept: is this the wanted outcome, or one that the user accepts? */
bool tally_accept(const struct accepted *accepted, enum kind kind, int code);

/* tally_outcome: count how an operation ended; `text` may be NULL and need not end with NUL. */
void tally_outcome(struct tally *tally, enum kind kind, int code, bool unexpected, uint64_t count,
		   const char *text, size_t length);

/* tally_merge: add what `from` has. */
void tally_merge(struct tally *tally, const struct tally *from);

/* tally_code_name: "No such object" for 32. */
const char *tally_code_name(int code);

#endif /* LDAPLOAD_TALLY_H */
