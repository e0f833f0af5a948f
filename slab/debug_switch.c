/* SPDX-License-Identifier: MIT */
/*
 * Changing the letters of a cache that is in use.
 *
 * The letters belong to the slab, so nothing that exists is rebuilt:
 *
 *   on      the fast path finds no slots any more; the slabs that CPUs hold are
 *           taken back; all slabs without letters start to drain
 *   other   debug slabs with the new letters serve, the others drain
 *   off     slabs that drained without letters are ordinary ones again; debug
 *           slabs drain; the fast path gets its slots back
 *
 * A thread that was on its way while the letters were switched on may still give
 * its CPU a slab without letters. Such slabs are swept up before each fresh
 * debug slab. They do no harm meanwhile: a free into them is an ordinary one.
 */
#include <errno.h>

#include "count.h"
#include "debug_cache.h"
#include "fault.h"
#include "guard.h"
#include "hand.h"
#include "reserve.h"

void cache_update_slots(struct slab_cache *cache)
{
	bool slow = cache->flags & SLAB_ZERO || cache_letters(cache) || sample_gate_open(cache) ||
		    count_is_open(cache) || reserve_is_gated(cache);

	__atomic_store_n(&cache->slots, slow ? cpu_slots_none() : cache->cpu_slots,
			 __ATOMIC_RELEASE);
}

/* --- slabs without letters --------------------------------------------------- */

struct sweep {
	struct slab_cache *cache;
	bool left; /* some are still a CPU's, or in somebody's hand */
};

static bool is_plain(const struct slab *slab)
{
	return !slab->debug && !slab_is_tagged(slab, SLAB_TAG_DEBUG);
}

/* A full slab is on no list: whoever sets REMOTE_OWNED has it in hand. */
static void sweep_full(struct slab *slab, void *arg)
{
	struct sweep *sweep = arg;
	uint64_t full = 0;

	if (!is_plain(slab))
		return;
	if (!__atomic_compare_exchange_n(&slab->remote, &full, REMOTE_OWNED, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		sweep->left = true;
	} else if (slab_user(slab) == sweep->cache) {
		drain_begin(sweep->cache, slab);
	} else { /* it had become another cache's by then */
		slab->next = NULL;
		slab_put_back(slab_user(slab), slab);
	}
}

/* Under flush_lock. */
static void sweep_locked(struct slab_cache *cache)
{
	struct sweep sweep = {.cache = cache};

	cache_flush_locked(cache);
	for (unsigned n = 0; n < topology_nodes(); n++) {
		struct slab *slab = node_take(cache, n, NODE_ALL), *next;

		for (; slab; slab = next) {
			next = slab->next;
			drain_begin(cache, slab);
		}
	}
	cache_each_slab(cache, sweep_full, &sweep);
	__atomic_store_n(&cache->undrained, sweep.left, __ATOMIC_RELAXED);
}

void debug_sweep(struct slab_cache *cache)
{
	if (!__atomic_load_n(&cache->undrained, __ATOMIC_RELAXED) || !hand_trylock(cache))
		return;
	/* They may have been switched off since our caller looked. */
	if (cache_letters(cache) & LETTERS_SLAB)
		sweep_locked(cache);
	hand_unlock(cache);
}

/* --- slabs with letters ------------------------------------------------------------ */

struct placing {
	struct slab_cache *cache;
	unsigned released;
};

/* Serve from it or not, according to the letters that hold now; an ordinary
 * slab again, when there are none. */
static void place(struct slab *slab, void *arg)
{
	struct placing *placing = arg;
	struct slab_cache *cache = placing->cache;
	struct cache_node *node = &cache->node[slab->node];
	bool unused = false, ordinary = false;

	if (!slab_is_tagged(slab, SLAB_TAG_DEBUG) || debug_is_guarded(slab))
		return;
	pthread_mutex_lock(&node->lock);
	if (slab_user(slab) != cache || !slab_is_tagged(slab, SLAB_TAG_DEBUG)) {
		/* gone meanwhile */
	} else if (!slab_drains(slab)) {
		unused = debug_slab_place(cache, slab);
	} else {
		drain_collect(slab);
		unused = !slab->drained;
		ordinary = !unused && !(cache_letters(cache) & LETTERS_SLAB);
		if (unused)
			slab_withdraw(slab);
		else if (ordinary)
			drain_end(cache, slab);
	}
	pthread_mutex_unlock(&node->lock);
	placing->released += unused;
	if (unused)
		slab_release(cache, slab);
	else if (ordinary)
		placing->released += slab_put_back(cache, slab);
}

/* Under flush_lock. */
static unsigned place_all(struct slab_cache *cache)
{
	struct placing placing = {.cache = cache};

	cache_each_slab(cache, place, &placing);
	return placing.released;
}

unsigned debug_settle(struct slab_cache *cache)
{
	unsigned released;

	hand_lock(cache);
	released = place_all(cache);
	hand_unlock(cache);
	return released;
}

static void set_letters(struct slab_cache *cache, uint64_t letters)
{
	uint64_t old = cache_letters(cache);

	letters |= old & LETTER_TOOL;
	__atomic_store_n(&cache->letters, letters, __ATOMIC_SEQ_CST);
	cache_update_slots(cache);
	if (letters & LETTERS_SLAB && !(old & LETTERS_SLAB))
		sweep_locked(cache);
	place_all(cache);
}

int slab_cache_debug(struct slab_cache *cache, uint64_t letters)
{
	if (!cache || cache->magic != CACHE_MAGIC || letters & ~(uint64_t)SLAB_DEBUG_LETTERS) {
		errno = EINVAL;
		return -EINVAL;
	}
	if (letters)
		fault_install();
	hand_lock(cache);
	set_letters(cache, letters);
	hand_unlock(cache);
	return 0;
}
