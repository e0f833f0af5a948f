/* SPDX-License-Identifier: MIT */
/*
 * Sequence counters: odd while the data that one belongs to is being changed. Writers have a
 * lock. A reader, who may be another process, reads counter, data and counter, and takes
 * the data if seqcount_is_stable().
 *
 * A counter is a word of a structure that is read from outside, so it has no type of its own.
 */
#ifndef SLAB_SEQCOUNT_H
#define SLAB_SEQCOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Nothing that follows is seen by others before the counter is. */
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
