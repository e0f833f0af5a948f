/* SPDX-License-Identifier: MIT */
/* Pins (pin.h): a count in the cache, and a list of the calling thread's own pins. */
#include "core/pin.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The pins of this thread. Real nesting is not deeper: a migrate callback allocates, the allocation
 * takes back memory, and that calls a reclaim callback. Further pins work, but the thread does not
 * recognize them as its own.
 */
#define PINS_KNOWN 8u

static __thread struct slab_cache *mine[PINS_KNOWN];

static void remember(struct slab_cache *before, struct slab_cache *after)
{
	for (unsigned i = 0; i < PINS_KNOWN; i++) {
		if (mine[i] == before) {
			mine[i] = after;
			return;
		}
	}
}

void cache_pin(struct slab_cache *cache)
{
	__atomic_fetch_add(&cache->pins, 1, __ATOMIC_RELAXED);
	remember(NULL, cache);
}

/* The memory of a cache stays mapped, so a wake-up after its destruction does no harm. */
void cache_unpin(struct slab_cache *cache)
{
	remember(cache, NULL);
	if (__atomic_sub_fetch(&cache->pins, 1, __ATOMIC_RELEASE) == 0)
		syscall(SYS_futex, &cache->pins, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

unsigned cache_pins_of_mine(const struct slab_cache *cache)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PINS_KNOWN; i++)
		n += mine[i] == cache;
	return n;
}
