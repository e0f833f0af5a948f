/* SPDX-License-Identifier: MIT */
/* Pins (pin.h): a count in the cache, and a list of the calling thread's own pins. */
#include "core/pin.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The pins of this thread, the newest first. */
static __thread struct pin *mine __attribute__((tls_model("initial-exec")));

void cache_pin(struct pin *pin, struct slab_cache *cache)
{
	__atomic_fetch_add(&cache->pins, 1, __ATOMIC_RELAXED);
	*pin = (struct pin){cache, mine};
	mine = pin;
}

/* The memory of a cache stays mapped, so a wake-up after its destruction does no harm. */
void cache_unpin(struct pin *pin)
{
	struct slab_cache *cache = pin->cache;
	struct pin **at = &mine;

	while (*at && *at != pin)
		at = &(*at)->next;
	if (*at)
		*at = pin->next;
	pin->cache = NULL;
	if (__atomic_sub_fetch(&cache->pins, 1, __ATOMIC_RELEASE) == PINS_WAITED_FOR)
		GUARD_STEP(pin_wakes, syscall(SYS_futex, &cache->pins, FUTEX_WAKE_PRIVATE,
					      INT32_MAX, NULL, NULL, 0));
}

unsigned cache_pins_of_mine(const struct slab_cache *cache)
{
	unsigned n = 0;

	for (const struct pin *pin = mine; pin; pin = pin->next)
		n += pin->cache == cache;
	return n;
}
