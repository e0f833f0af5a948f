/* SPDX-License-Identifier: MIT */
/*
 * Sequence counters: odd while a writer changes the data that the counter belongs to.
 * Writers hold a lock. A reader, which may be another process, reads the counter, the data
 * and the counter again, and uses the data if seqcount_is_stable().
 *
 * A counter is a word of a structure that is read from outside, so it has no type of its own.
 */
#ifndef SLAB_SEQCOUNT_H
#define SLAB_SEQCOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* No other thread sees what follows before it sees the counter. */
static inline void seqcount_write_begin(uint64_t *sequence)
{
	__atomic_fetch_add(sequence, 1, __ATOMIC_RELAXED);
	__sync_synchronize();
}

/* Nothing that was done before is seen after it. */
static inline void seqcount_write_end(uint64_t *sequence)
{
	__atomic_fetch_add(sequence, 1, __ATOMIC_RELEASE);
}

/* Nothing changed between two looks at the counter. */
static inline bool seqcount_is_stable(uint64_t before, uint64_t after)
{
	return before == after && !(before & 1);
}

#endif /* SLAB_SEQCOUNT_H */
