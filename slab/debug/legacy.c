/* SPDX-License-Identifier: MIT */
/*
 * Legacy-layout slabs without debug flags, of a cache that now has some.
 *
 * Objects are freed into such a slab but not allocated from it. It has no owner and is on no
 * list. It carries SLAB_TAG_DEBUG, so every free of its objects goes through debug_free() under
 * the node's lock. The memory of the freelist holds the state of each object in a 16-bit word.
 *
 * Frees that began before the slab became a legacy slab still push to the remote word.
 * REMOTE_OWNED keeps these objects there until legacy_collect(). In the cmpxchg16b engine, such a
 * free may write a link, the index of an object + 1, into its object's word before it sees that
 * the slab has no owner. So LEGACY_FREE is a number that is never a link, and any other value
 * means that the object is not known to be free.
 */
#include <string.h>

#include "core/free_map.h"
#include "core/slab.h"
#include "debug/debug_cache.h"

static void set_free(const struct slab *slab, unsigned index, bool is_free)
{
	__atomic_store_n(legacy_state(slab, index), is_free ? LEGACY_FREE : 0, __ATOMIC_RELAXED);
}

static void set_legacy_used(struct slab *slab, unsigned used)
{
	__atomic_store_n(&slab->legacy_used, used, __ATOMIC_RELAXED);
}

/* Replace the freelist by the states of the objects, unless all are free. Returns the number of
 * objects in use. */
static unsigned freelist_to_states(struct slab *slab)
{
	uint64_t *map = free_map_lock();
	uint16_t taken[CPU_BATCH_MAX];
	unsigned used = slab->initialized;

	slab_map_free(slab, map);
	for (unsigned i = 0; i < slab->initialized; i++)
		used -= free_map_has(map, i);
	while (used && cpu_slab_take(&slab->cpu, CPU_BATCH_MAX, taken))
		;
	for (unsigned i = 0; used && i < slab->objects; i++)
		set_free(slab, i, free_map_has(map, i));
	free_map_unlock();
	return used;
}

void legacy_begin(struct slab_cache *cache, struct slab *slab)
{
	unsigned used;

	slab_collect(slab);
	used = freelist_to_states(slab);
	if (!used) {
		slab_release(cache, slab);
		return;
	}
	set_legacy_used(slab, used);
	slab->next = slab->prev = NULL;
	segment_set_number(slab, 0);
	__atomic_store_n(&slab->cpu.user, (const char *)cache + SLAB_TAG_DEBUG, __ATOMIC_RELEASE);
}

void legacy_end(struct slab_cache *cache, struct slab *slab)
{
	uint64_t *map = free_map_lock();

	memset(map, 0, SLAB_MAP_WORDS * sizeof(map[0]));
	for (unsigned i = 0; i < slab->initialized; i++)
		map[i / 64] |= (uint64_t)legacy_is_free(slab, i) << i % 64;
	for (unsigned i = slab->initialized; i-- > 0;) {
		uint16_t offset8 = (uint16_t)(i * slab->cpu.size8);

		if (free_map_has(map, i))
			cpu_slab_put(&slab->cpu, 1, &offset8);
	}
	free_map_unlock();
	__atomic_store_n(&slab->cpu.user, cache_user(cache), __ATOMIC_RELEASE);
	segment_set_number(slab, cache_plain_number(cache));
}

bool legacy_free(struct slab *slab, unsigned index)
{
	if (legacy_is_free(slab, index))
		return false;
	set_free(slab, index, true);
	set_legacy_used(slab, slab->legacy_used - 1);
	return true;
}

void legacy_collect(struct slab *slab)
{
	uint64_t remote = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED);

	if (remote == REMOTE_OWNED)
		return;
	remote = __atomic_exchange_n(&slab->remote, REMOTE_OWNED, __ATOMIC_ACQ_REL);
	for (unsigned i = remote & 0xffff, left = remote >> 16 & 0xffff; i && left; left--) {
		legacy_free(slab, i - 1);
		i = __atomic_load_n(&slab->links[i - 1], __ATOMIC_RELAXED);
	}
}
