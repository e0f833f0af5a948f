/* SPDX-License-Identifier: MIT */
/*
 * Replaying traces. The first round checks each get against a model of the pblock: the value that
 * was set last, or the default. Further rounds make the same calls unchecked and measure their
 * time.
 */
#ifndef PBLOCK_REPLAY_H
#define PBLOCK_REPLAY_H

#include "trace.h"

/* replay_check: make a checked round. false after fail() has reported a wrong value. */
bool replay_check(const struct trace *trace);

/* replay_measure: make `rounds` timed rounds. Returns the nanoseconds of one; less than 0 after
 * fail() has reported a lack of memory. */
double replay_measure(const struct trace *trace, uint64_t rounds);

#endif /* PBLOCK_REPLAY_H */
