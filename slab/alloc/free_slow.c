/* SPDX-License-Identifier: MIT */
/*
 * Frees off the fast path: to slabs that another CPU owns, to full slabs, and of pointers that are
 * not objects of this cache.
 *
 * If the LIFO is full, an object of a slab that the CPU owns goes to that slab by a second sequence.
 * For an object of another slab, half of the LIFO moves to a magazine. If no magazine is empty, the
 * object joins the remote batch, which collects objects of one slab of another owner: a third
 * sequence, for plain slabs. One exchange delivers the batch. A full slab is adopted by the first
 * CPU that frees into it, so its next objects are freed locally.
 */
#include <slab/stats.h>

#include "rseq.h"
#include "alloc/alloc.h"
#include "base/compiler.h"
#include "base/maintenance.h"
#include "base/probe.h"
#include "percpu/lifo_length.h"
#include "percpu/magazines.h"
#include "percpu/refill.h"
#include "core/slab.h"
#include "debug/debug_cache.h"
#include "inject.h"
#include "pages/idle.h"

/* A full slab is adopted at once, without the detour through the remote batch. */
static bool claim_full(struct slab_cache *cache, struct slab *slab, uint16_t offset8)
{
	if (__atomic_load_n(&slab->remote, __ATOMIC_RELAXED) & REMOTE_OWNED)
		return false;
	slab_free_remote(cache, slab, 1, &offset8);
	cache_event(cache, cpu_engine->cpu(), SLAB_EVENT_FREE_OWN);
	return true;
}

static void flush_batch(struct slab_cache *cache, int cpu, const struct cpu_batch *batch)
{
	struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);
	uint64_t *objects = &slot->event[SLAB_EVENT_FREE_REMOTE];

	__atomic_store_n(objects, __atomic_load_n(objects, __ATOMIC_RELAXED) + batch->count,
			 __ATOMIC_RELAXED);
	cache_event(cache, cpu, SLAB_EVENT_FREE_REMOTE_BATCH);
	cpu_inject(CPU_INJECT_BATCH_TAKEN);
	slab_free_remote(cache, slab_from_cpu(batch->slab), batch->count, batch->offset8);
}

static void flush_remote_batch(struct slab_cache *cache, int cpu)
{
	struct cpu_batch batch;

	if (cpu_engine->batch_take(cache->cpu_slots, cpu, &batch) == CPU_DONE)
		flush_batch(cache, cpu, &batch);
}

/* false: the remote batch ends with this object, so this is a double free. */
static bool free_foreign(struct slab_cache *cache, int cpu, struct slab *slab, uint16_t offset8)
{
	struct cpu_batch batch;

	for (unsigned tries = 0; cpu >= 0 && tries < 8; cpu = cpu_engine->cpu(), tries++) {
		enum cpu_result result;

		result = cpu_engine->batch_add(cache->cpu_slots, cpu, &slab->cpu, offset8);
		idle_kick();
		if (result == CPU_DONE)
			return true;
		if (result == CPU_DOUBLE)
			return false;
		if (result == CPU_MISS)
			flush_remote_batch(cache, cpu);
	}
	batch = (struct cpu_batch){.slab = &slab->cpu, .count = 1, .offset8 = {offset8}};
	flush_batch(cache, cpu < 0 ? 0 : cpu, &batch);
	return true;
}

/* Free an object of a slab that this CPU does not own, past the LIFO. */
static void free_away(struct slab_cache *cache, void *obj, struct slab *slab, int cpu,
		      const void *caller)
{
	uint16_t offset8 = cpu_slab_offset8(&slab->cpu, obj);

	if (!claim_full(cache, slab, offset8) && !free_foreign(cache, cpu, slab, offset8))
		debug_report_double_free(cache, slab, obj, caller);
	maintenance_resume();
	maintenance_poll();
}

/* Objects of other nodes never go to the LIFO, so they return to their slabs. */
static bool goes_to_lifo(const struct slab *slab, int cpu)
{
	return cpu_engine->lifos && slab_is_near(slab, cpu);
}

static enum cpu_result lifo_push(struct slab_cache *cache, int cpu, const struct slab *slab,
				 void *obj)
{
	enum cpu_result result = CPU_MISS;

	if (goes_to_lifo(slab, cpu))
		result = cpu_engine->lifo_push(cache->cpu_slots, cpu, obj, lifo_length(cache));
	if (result == CPU_DONE)
		idle_begin(cpu);
	return result;
}

/* To the LIFO, else to the slab if this CPU owns it, else to the LIFO after half of it became a
 * magazine. */
static enum cpu_result free_here(struct slab_cache *cache, int cpu, struct slab *slab, void *obj)
{
	enum cpu_result result = lifo_push(cache, cpu, slab, obj);

	if (result == CPU_MISS)
		result = cpu_engine->push(cache->cpu_slots, cpu, &slab->cpu,
					  cpu_slab_offset8(&slab->cpu, obj));
	while (result == CPU_MISS && goes_to_lifo(slab, cpu) && magazine_put(cache, cpu))
		result = lifo_push(cache, cpu, slab, obj);
	return result;
}

/* Objects of other nodes never go to the LIFO, so they are no reason to make it longer. */
static void count_past_lifo(struct slab_cache *cache, const struct slab *slab, int cpu)
{
	if (slab_is_near(slab, cpu))
		lifo_count_miss(cache, cpu);
	else
		cache_event(cache, cpu, SLAB_EVENT_FREE_SLOWPATH);
}

static void free_object(struct slab_cache *cache, void *obj, struct slab *slab, const void *caller)
{
	int cpu = cpu_engine->cpu();

	while (cpu >= 0) {
		enum cpu_result result = free_here(cache, cpu, slab, obj);

		if (result == CPU_DONE)
			return;
		if (result == CPU_DOUBLE) {
			debug_report_double_free(cache, slab, obj, caller);
			return;
		}
		if (result == CPU_FULL) {
			debug_report_full(cache, slab, obj, caller);
			return;
		}
		if (result == CPU_MISS)
			break;
		cpu = cpu_engine->cpu();
	}
	count_past_lifo(cache, slab, cpu);
	free_away(cache, obj, slab, cpu, caller);
}

/* An ordinary slab of this cache? `slab` may be any address, because `obj` may be any pointer; so
 * segment_known() comes first. */
static bool is_plain(struct slab_cache *cache, const void *obj, const struct slab *slab)
{
	return segment_known(obj) &&
	       __atomic_load_n(&slab->cpu.user, __ATOMIC_RELAXED) == cache_user(cache);
}

void slab_free_from(struct slab_cache *cache, void *obj, struct slab *slab, const void *caller)
{
	while (SLAB_UNLIKELY(!is_plain(cache, obj, slab))) {
		if (debug_free(cache, obj, caller))
			return;
		slab = slab_of(obj);
	}
	if (SLAB_UNLIKELY(!slab_is_object(slab, obj))) {
		debug_report_interior(cache, slab, obj, caller);
		return;
	}
	slab_clear_freed(slab, obj);
	/* If only the tag, or the missing number, kept this free off the fast path, it can take the
	 * same sequence now. */
	if (!cache_plain_number(cache) && slab_push(cache, slab, obj))
		return;
	SLAB_PROBE(free_slow, cache->name, cache, caller, obj, cpu_rseq_number());
	free_object(cache, obj, slab, caller);
}

/* Is this the newest object of the CPU's LIFO? A guess: free_object() finds out whether it is a double
 * free. */
static inline bool looks_held(struct slab_cache *cache, const void *obj, int cpu)
{
	const struct cpu_lifo *lifo = cpu_lifo(cache->cpu_lifos, cpu);
	uint64_t n = __atomic_load_n(&lifo->count, __ATOMIC_RELAXED);

	return n && __atomic_load_n(&lifo->obj[n - 1], __ATOMIC_RELAXED) == obj;
}

/* Does the LIFO refuse objects because it is full? */
static inline bool looks_full(struct slab_cache *cache, int cpu)
{
	const struct cpu_lifo *lifo = cpu_lifo(cache->cpu_lifos, cpu);
	uint64_t limit = __atomic_load_n(&lifo->limit, __ATOMIC_RELAXED);

	return limit == lifo_length(cache) &&
	       __atomic_load_n(&lifo->count, __ATOMIC_RELAXED) >= limit;
}

/* Deliver the remote batch, which is another slab's; this object begins the next one. */
static __attribute__((noinline)) void start_batch(struct slab_cache *cache, void *obj,
						  struct slab *slab, int cpu, const void *caller)
{
	uint16_t offset8 = cpu_slab_offset8(&slab->cpu, obj);

	flush_remote_batch(cache, cpu);
	if (cpu_engine->batch_add(cache->cpu_slots, cpu, &slab->cpu, offset8) == CPU_DONE)
		idle_begin(cpu);
	else
		free_away(cache, obj, slab, cpu, caller);
}

/* Make room in the LIFO and push the object. false: the slab lies on another node, magazine_put()
 * failed, or the LIFO refused the object again. */
static bool push_after_put(struct slab_cache *cache, void *obj, struct slab *slab, int cpu)
{
	return slab_is_near(slab, cpu) && magazine_put(cache, cpu) && slab_push(cache, slab, obj);
}

/* The LIFO is full, and this CPU does not own the slab. Move half of the LIFO into a magazine. If
 * that fails, try the remote batch at once. The thread may have left `cpu`; the sequences notice
 * that. */
static __attribute__((noinline)) void free_third(struct slab_cache *cache, void *obj,
						 struct slab *slab, int cpu, const void *caller)
{
	const bool is_owned = __atomic_load_n(&slab->cpu.owner, __ATOMIC_RELAXED) != CPU_NONE;
	const struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);

	SLAB_PROBE(free_slow, cache->name, cache, caller, obj, cpu);
	if (push_after_put(cache, obj, slab, cpu)) {
		idle_begin(cpu);
		maintenance_poll();
		return;
	}
	count_past_lifo(cache, slab, cpu);
	if (is_owned &&
	    cpu_word_slab(__atomic_load_n(&slot->remote_batch, __ATOMIC_RELAXED)) != &slab->cpu)
		start_batch(cache, obj, slab, cpu, caller);
	else if (is_owned && rseq_batch_add(&cache->cpu_slots, &slab->cpu, obj, cpu_rseq_offset))
		idle_begin(cpu);
	else
		free_away(cache, obj, slab, cpu, caller);
}

/* The LIFO refused the object. If it is full and this CPU owns the slab, the object goes there. If
 * the LIFO is not full, it is closed, or the object is free already, or the sequence was aborted. */
__attribute__((noinline, aligned(CPU_CACHELINE))) void slab_free_second(struct slab_cache *cache,
									void *obj,
									struct slab *slab,
									const void *caller)
{
	const int cpu = cpu_rseq_number();
	const bool may_go_on = !slab_is_near(slab, cpu) ||
			       (looks_full(cache, cpu) && !looks_held(cache, obj, cpu));

	if (SLAB_LIKELY(may_go_on) && rseq_push_owned(&slab->cpu, obj, cpu_rseq_offset))
		return;
	if (!may_go_on || cpu < 0 || !cpu_slab_is_object(&slab->cpu, obj) ||
	    __atomic_load_n(&slab->cpu.owner, __ATOMIC_RELAXED) == (uint64_t)cpu)
		slab_free_from(cache, obj, slab, caller);
	else
		free_third(cache, obj, slab, cpu, caller);
}

SLAB_SLOWPATH void slab_free_slow(struct slab_cache *cache, void *obj, struct slab *slab)
{
	slab_free_from(cache, obj, slab, __builtin_return_address(0));
}

SLAB_SLOWPATH void slab_free_numbered(struct slab_cache *cache, void *obj, const void *caller)
{
	struct slab *slab = slab_of(obj);

	if (slab_plain_user(slab) == cache)
		slab_free_second(cache, obj, slab, caller);
	else
		slab_free_from(cache, obj, slab, caller);
}
