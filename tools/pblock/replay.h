/* SPDX-License-Identifier: MIT */
/*
 * Replaying traces. In the first round each get is checked against a model of the
 * pblock: what was set last, or the default. Then the same calls are made again and
 * again, unchecked, for the time they take.
 */
#ifndef PBLOCK_REPLAY_H
#define PBLOCK_REPLAY_H

#include "trace.h"

/* Of one round. */
struct measures {
	uint64_t bytes;   /* of all pblocks that ended, each when it ended */
	uint64_t largest; /* of one */
	uint64_t pblocks; /* how many ended */
	double ns;        /* 0: no round was measured */
};

/* replay_check: a round. False after reporting with fail() what came back instead. */
bool replay_check(const struct trace *trace, struct measures *ret);

/* replay_measure: `rounds` rounds. False after reporting with fail(): no memory. */
bool replay_measure(const struct trace *trace, uint64_t rounds, struct measures *ret);

#endif /* PBLOCK_REPLAY_H */
