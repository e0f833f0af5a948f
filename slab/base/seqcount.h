/* SPDX-License-Identifier: MIT */
/*
 * Sequence counters. A counter is odd while a writer changes its data; writers hold a lock. A
 * reader, perhaps in another process, reads the counter, the data and the counter again, and uses
 * the data if seqcount_is_stable().
 *
 * A counter is a uint64_t without a type of its own, because it is a member of structures that
 * other processes read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Other threads see the odd counter before they see any change of the data. */
static inline void seqcount_write_begin(uint64_t *sequence)
{
	__atomic_fetch_add(sequence, 1, __ATOMIC_RELAXED);
	__sync_synchronize();
}

/* Other threads see all changes of the data before they see the even counter. */
static inline void seqcount_write_end(uint64_t *sequence)
{
	__atomic_fetch_add(sequence, 1, __ATOMIC_RELEASE);
}

/* true: the data did not change between the two reads of the counter. */
static inline bool seqcount_is_stable(uint64_t before, uint64_t after)
{
	return before == after && !(before & 1);
}
