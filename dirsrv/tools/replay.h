/* SPDX-License-Identifier: MIT */
/*
 * Replaying traces. The first round checks each get against a model of the pblock: the value that
 * was set last, or the default. Further rounds make the same calls unchecked and measure their
 * time.
 */
#ifndef PBLOCK_REPLAY_H
#define PBLOCK_REPLAY_H

#include "trace.h"

/* The measures of one round. */
struct measures {
	uint64_t bytes;   /* of all pblocks, each at its end */
	uint64_t largest; /* bytes of the largest pblock */
	uint64_t pblocks; /* the number of pblocks that ended */
	double ns;        /* 0: no round was measured */
};

/* replay_check: make a checked round. false after fail() has reported a wrong value. */
bool replay_check(const struct trace *trace, struct measures *ret);

/* replay_measure: make `rounds` timed rounds. false after fail() has reported a lack of memory. */
bool replay_measure(const struct trace *trace, uint64_t rounds, struct measures *ret);

#endif /* PBLOCK_REPLAY_H */
