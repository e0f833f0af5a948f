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
#define PINS_KNOWN 4u

/* Short names of caches, 0: none. A plug-in with libslab.a gets little thread-local memory. Caches start at
 * cache lines, and no two are 256 GiB apart. */
static __thread uint32_t mine[PINS_KNOWN];

static uint32_t short_name(const struct slab_cache *cache)
{
	return (uint32_t)((uintptr_t)cache / CPU_CACHELINE);
}

static void remember(uint32_t before, uint32_t after)
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
	remember(0, short_name(cache));
}

/* The memory of a cache stays mapped, so a wake-up after its destruction does no harm. */
void cache_unpin(struct slab_cache *cache)
{
	remember(short_name(cache), 0);
	if (__atomic_sub_fetch(&cache->pins, 1, __ATOMIC_RELEASE) == PINS_WAITED_FOR)
		GUARD_STEP(pin_wakes, syscall(SYS_futex, &cache->pins, FUTEX_WAKE_PRIVATE,
					      INT32_MAX, NULL, NULL, 0));
}

unsigned cache_pins_of_mine(const struct slab_cache *cache)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PINS_KNOWN; i++)
		n += mine[i] == short_name(cache);
	return n;
}
