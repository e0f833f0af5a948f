/* SPDX-License-Identifier: MIT */
/*
 * Release: empty slabs on their way to the page layer.
 *
 * A destructor is code of the application. It may wait for a lock of the application while the
 * thread that holds it forks, validates or moves objects, all of which take flush_lock. So
 * destructors run with no lock held. So does call_rcu() for a type-safe cache, because it may
 * allocate.
 *
 * Two more kinds of slabs must not be released under flush_lock: debug slabs, because they are
 * checked first and a report may follow, and with SLAB_DECAY_MS=0 or SLAB_APART all slabs, because
 * their memory returns to the OS at once. These wait until flush_lock is unlocked. All other slabs
 * are returned directly, by a thread that holds flush_lock.
 *
 * A slab goes through these steps:
 *
 *   leaving     It is on node->leaving. If the thread holds flush_lock it stops here, and
 *               its flush_unlock() continues.
 *   destroyed   It is still on node->leaving; slab->destroyer is the thread that runs the
 *               destructors.
 *   returned    The thread returns it under flush_lock, so that no child of a fork lacks it.
 *
 * In the child of a fork the slabs that other threads were destroying are leaving again. Objects
 * are destroyed from the last to the first, and each stops counting as an object before its
 * destructor runs. So the child destroys no object a second time. The thread that forked continues
 * with its own slab.
 *
 * A destructor may free objects and so empty more slabs of its cache. These are released one after
 * the other, not nested. The cache is pinned meanwhile, so a destructor that destroys it gets an
 * error.
 */
#include <slab/slab.h>

#include "base/own_work.h"
#include "core/callback.h"
#include "core/debug_record.h"
#include "core/flush_lock.h"
#include "core/pin.h"
#include "core/slab.h"
#include "core/upcalls.h"
#include "inject.h"
#include "pages/free_slabs.h"
#include "pages/idle.h"
#include "pages/topology.h"
#include "report/annotate.h"

/* The cache whose slabs this thread is destroying. */
static __thread const struct slab_cache *releasing __attribute__((tls_model("initial-exec")));

/* Not 0, and another number for each thread: thread descriptors lie further apart. */
static uint32_t myself(void)
{
	return (uint32_t)((uintptr_t)pthread_self() >> 6) | 1;
}

static void leave(struct slab_cache *cache, struct slab *slab)
{
	struct cache_node *node = &cache->node[slab->node];

	__atomic_store_n(&cache->leaves, true, __ATOMIC_RELAXED);
	GUARD_STEP(leave_lock, pthread_mutex_lock(&node->lock));
	slab->destroyer = 0;
	queue_add_head(&node->leaving, slab);
	pthread_mutex_unlock(&node->lock);
}

/* Slabs that a thread is destroying are at the end of the queue. */
static struct slab *take_from(struct cache_node *node)
{
	struct slab *slab;

	GUARD_STEP(leave_take_lock, pthread_mutex_lock(&node->lock));
	slab = node->leaving.first;
	if (slab && GUARD_AGAINST(leave_destroyer, slab->destroyer))
		slab = NULL;
	if (slab) {
		slab->destroyer = myself();
		queue_remove(&node->leaving, slab);
		queue_add_tail(&node->leaving, slab);
	}
	pthread_mutex_unlock(&node->lock);
	return slab;
}

static struct slab *take(struct slab_cache *cache)
{
	struct slab *slab = NULL;

	for (unsigned n = 0; n < topology_nodes() && !slab; n++)
		slab = take_from(&cache->node[n]);
	return slab;
}

static void has_left(struct cache_node *node, struct slab *slab)
{
	pthread_mutex_lock(&node->lock);
	queue_remove(&node->leaving, slab);
	slab->destroyer = 0;
	pthread_mutex_unlock(&node->lock);
}

/* The destructors ended early, since exit() began. */
static void leave_to_others(struct cache_node *node, struct slab *slab)
{
	pthread_mutex_lock(&node->lock);
	queue_remove(&node->leaving, slab);
	slab->destroyer = 0;
	queue_add_head(&node->leaving, slab);
	pthread_mutex_unlock(&node->lock);
}

static __thread bool destroys __attribute__((tls_model("initial-exec")));

/* A debug or legacy slab does not name its cache any more. */
static void *object_at(const struct slab_cache *cache, const struct slab *slab, unsigned index)
{
	return slab->debug ? debug_object_at(slab, index) : slab_object(cache, slab, index);
}

bool debug_is_destroying(void)
{
	return destroys;
}

void debug_destroy_object(struct slab_cache *cache, void *obj)
{
	bool was = destroys;

	destroys = true;
	cache->dtor(obj, cache->arg);
	destroys = was;
}

static void set_initialized(struct slab *slab, unsigned n)
{
	__atomic_store_n(&slab->initialized, (uint16_t)n, __ATOMIC_RELAXED);
}

/* The last object first. Each stops counting as an object before its destructor runs (see
 * above). */
void debug_destroy_objects(struct slab_cache *cache, struct slab *slab)
{
	struct callback callback;

	if (slab->debug && slab->debug->debug_flags & DEBUG_FLAG_TOOL)
		annotate_show(slab->base, slab_bytes(slab));
	if (slab->debug)
		cache->checks->leaving(cache, slab);
	if (!cache->dtor)
		return;
	callback = callback_begin(cache);
	for (unsigned i = slab->initialized; i-- > 0 && !own_work_must_end();) {
		GUARD_STEP(destroy_counted, set_initialized(slab, i));
		debug_destroy_object(cache, object_at(cache, slab, i));
	}
	callback_end(&callback);
}

/* Return the pages of a slab that leaves, with no lock held, where they must go at once. The slab
 * was checked before: the child of a fork must not check it again after that. */
static void discard(struct slab_cache *cache, struct slab *slab)
{
	if (slab->debug)
		set_initialized(slab, 0);
	if (cache->space)
		space_discard(slab);
	else if (decay_at_once())
		segment_discard(slab);
}

void slab_release_now(struct slab_cache *cache, struct slab *slab)
{
	debug_destroy_objects(cache, slab);
	discard(cache, slab);
	pthread_mutex_lock(&cache->flush_lock);
	slab_free_pages(cache, slab);
	pthread_mutex_unlock(&cache->flush_lock);
}

/* May RCU readers still access objects of this slab? Not when the cache is being destroyed: its
 * destruction has waited for a grace period. */
static bool readers_may_look(const struct slab_cache *cache)
{
	return cache->flags & SLAB_TYPESAFE_BY_RCU && !cache_is_dying(cache);
}

static void release(struct slab_cache *cache, struct slab *slab)
{
	struct cache_node *node = &cache->node[slab->node];

	if (readers_may_look(cache)) {
		has_left(node, slab);
		cache->deferral->release(cache, slab);
		return;
	}
	debug_destroy_objects(cache, slab);
	if (cache->dtor && slab->initialized) {
		leave_to_others(node, slab);
		return;
	}
	discard(cache, slab);
	cpu_inject(CPU_INJECT_SLAB_DESTROYED);
	GUARD_STEP(release_flush_lock, pthread_mutex_lock(&cache->flush_lock));
	has_left(node, slab);
	slab_free_pages(cache, slab);
	pthread_mutex_unlock(&cache->flush_lock);
}

void release_leaving(struct slab_cache *cache)
{
	const struct slab_cache *was = releasing;
	struct pin pin = {.cache = cache};
	struct slab *slab;

	if (!__atomic_load_n(&cache->leaves, __ATOMIC_RELAXED) || was == cache ||
	    flush_lock_is_held() || own_work_must_end())
		return;
	slab = take(cache);
	if (!slab)
		return;
	GUARD_STEP(release_pin, cache_pin(&pin, cache));
	releasing = cache;
	do
		release(cache, slab);
	while (!own_work_must_end() && (slab = take(cache)));
	releasing = was;
	cache_unpin(&pin);
}

void slab_release(struct slab_cache *cache, struct slab *slab)
{
	const bool waits = cache->dtor || readers_may_look(cache) || slab->debug || cache->space ||
			   decay_at_once();

	if (flush_lock_is_held() && !waits) {
		slab_free_pages(cache, slab);
		return;
	}
	leave(cache, slab);
	release_leaving(cache);
}

static void leave_again(struct cache_node *node)
{
	struct slab *next;

	for (struct slab *slab = node->leaving.first; slab; slab = next) {
		next = slab->next;
		if (!slab->destroyer || slab->destroyer == myself())
			continue;
		slab->destroyer = 0;
		queue_remove(&node->leaving, slab);
		queue_add_head(&node->leaving, slab);
	}
}

void release_after_fork_child(struct slab_cache *cache)
{
	for (unsigned n = 0; n < topology_nodes(); n++)
		leave_again(&cache->node[n]);
}
