/* SPDX-License-Identifier: MIT */
/*
 * Who holds the memory: the report of an allocation that fails for lack of memory. It has sums of
 * the process, the largest caches, and the largest sites if a heap profile runs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pages/account.h"

struct slab_cache;

/*
 * holders_report: an allocation of `bytes` from `cache` (NULL: a large one) failed at this limit,
 * or because the system refused memory. Write the report, unless one was begun less than a minute
 * ago, no machine has as many bytes, or fault injection may be the cause. The caller holds no lock.
 * Returns the text, which stays until holders_done(), or NULL: nothing was written.
 */
const char *holders_report(const struct slab_cache *cache, size_t bytes, enum alloc_failure why,
			   size_t limit);
void holders_done(void);

/* holders_note: a decay pass ends; once a minute, note the bytes of all caches. */
void holders_note(void);

/* Atomic: when the last report was begun, in µs; 0: never. */
extern uint64_t holders_reported;
