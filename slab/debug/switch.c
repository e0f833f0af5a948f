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
#include <pthread.h>
#include <slab/debug.h>
#include <slab/slab.h>

#include "base/cancel.h"
#include "base/error.h"
#include "config/fail.h"
#include "core/debug_record.h"
#include "core/hand.h"
#include "core/node.h"
#include "core/refill.h"
#include "core/slab.h"
#include "debug/debug_cache.h"
#include "debug/fault.h"
#include "pages/topology.h"
#include "registry/gate.h"

/* They change under flush_lock. */
static bool has_letters(const struct slab_cache *cache)
{
	return cache_letters(cache) & LETTERS_SLAB;
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

	if (!is_plain(slab) || !has_letters(sweep->cache))
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

/* Some of those on a node's list. false: flush_lock is held for long. */
static bool sweep_listed(struct slab_cache *cache, unsigned n, enum hand_lock how, bool *ret_more)
{
	struct slab *slab = NULL, *next;

	if (!hand_lock_as(cache, how))
		return false;
	if (has_letters(cache))
		slab = node_take(cache, n, HAND_MAX);
	*ret_more = slab;
	for (; slab; slab = next) {
		next = slab->next;
		drain_begin(cache, slab);
	}
	hand_unlock(cache);
	return true;
}

static bool sweep_lists(struct slab_cache *cache, enum hand_lock how)
{
	for (unsigned n = 0; n < topology_nodes(); n++) {
		bool more = true;

		while (more)
			if (!sweep_listed(cache, n, how, &more))
				return false;
	}
	return true;
}

/* With flush_lock given up between slabs; when the letters are switched off meanwhile, what
 * is left stays as it is. Slabs that are missed are looked for again. */
static void sweep(struct slab_cache *cache, enum hand_lock how)
{
	struct sweep sweep = {.cache = cache};
	unsigned released;

	__atomic_store_n(&cache->undrained, false, __ATOMIC_SEQ_CST);
	if (!cache_flush_as(cache, how, &released) || !sweep_lists(cache, how) ||
	    !hand_each_slab(cache, how, sweep_full, &sweep) || sweep.left)
		__atomic_store_n(&cache->undrained, true, __ATOMIC_RELAXED);
}

void debug_sweep(struct slab_cache *cache)
{
	if (__atomic_load_n(&cache->undrained, __ATOMIC_RELAXED) && has_letters(cache))
		sweep(cache, HAND_SOON);
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

unsigned debug_settle(struct slab_cache *cache)
{
	struct placing placing = {.cache = cache};

	if (__atomic_load_n(&cache->had_letters, __ATOMIC_RELAXED))
		hand_each_slab(cache, HAND_WAIT, place, &placing);
	return placing.released;
}

/* Whether there are letters now, and were none. */
static bool set_letters(struct slab_cache *cache, uint64_t letters)
{
	uint64_t old;

	hand_lock(cache);
	old = cache_letters(cache);
	letters |= old & LETTER_TOOL;
	if (letters)
		__atomic_store_n(&cache->had_letters, true, __ATOMIC_RELAXED);
	__atomic_store_n(&cache->letters, letters, __ATOMIC_SEQ_CST);
	cache_gate_set(cache, GATE_DEBUG, letters != 0);
	hand_unlock(cache);
	return letters & LETTERS_SLAB && !(old & LETTERS_SLAB);
}

int slab_cache_debug(struct slab_cache *cache, uint64_t letters)
{
	int cancel;

	if (!cache || cache->magic != CACHE_MAGIC || letters & ~(uint64_t)SLAB_DEBUG_LETTERS)
		return with_errno(-EINVAL);
	cancel = cancel_disable();
	if (letters)
		fault_install();
	if (set_letters(cache, letters))
		sweep(cache, HAND_WAIT);
	debug_settle(cache);
	cancel_restore(cancel);
	return 0;
}

/* --- fault injection ----------------------------------------------------------------- */

/* Caches that are named need the letter A, which sends them off the fast path. */
static int letter_cache(struct slab_cache *cache, void *unused)
{
	uint64_t letters = cache_letters(cache) & SLAB_DEBUG_LETTERS;

	(void)unused;
	if (!(letters & SLAB_FAILSLAB) && fail_wants(cache->name))
		slab_cache_debug(cache, letters | SLAB_FAILSLAB);
	return 0;
}

int slab_set_fail(const char *spec)
{
	struct slab_fail wanted = {.set = false};

	if (spec && *spec && !fail_parse(&wanted, spec))
		return with_errno(-EINVAL);
	fail_set(&wanted);
	slab_for_each_cache(letter_cache, NULL);
	return 0;
}
