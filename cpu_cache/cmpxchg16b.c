/* SPDX-License-Identifier: MIT */
/*
 * The cmpxchg16b engine: SLUB's algorithm, for kernels and tools without restartable sequences.
 * A slab's freelist is a list of object indices. One word has {first, count, owner}, the next
 * word a transaction id. Pop and push exchange both words in one locked instruction. The id
 * grows with each exchange, so an exchange fails even if the list has come to look the same
 * again.
 *
 * Two threads may act for one CPU at the same time. A stack, which is written by position, would
 * lose objects then. So the array beside the objects holds links, and only the thread that frees
 * an object writes its link.
 *
 * The slot's words change under the slot's lock. Pop reads `current` without the lock, so
 * `current` may be stale; pop therefore checks the owner in the slab's own word.
 */
#include "cas16.h"
#include "locked.h"

#define FIRST(word) ((unsigned)((word) & 0xffff))
#define COUNT(word) ((unsigned)((word) >> 16 & 0xffff))
#define OWNER(word) ((uint32_t)((word) >> 32))

static uint64_t list_word(unsigned first, unsigned count, uint32_t owner)
{
	return (uint64_t)first | (uint64_t)count << 16 | (uint64_t)owner << 32;
}

struct list {
	uint64_t word, tid;
};

/* Read the id before the word: an older id can only make the exchange fail. */
static struct list list_read(const struct cpu_slab *slab)
{
	struct list list;

	list.tid = __atomic_load_n(&cpu_slab_freelist(slab)->tid, __ATOMIC_ACQUIRE);
	list.word = __atomic_load_n(&cpu_slab_freelist(slab)->local, __ATOMIC_ACQUIRE);
	return list;
}

static bool list_exchange(struct cpu_slab *slab, struct list old, uint64_t word)
{
	cpu_inject(2);
	return cas16(&cpu_slab_freelist(slab)->local, old.word, old.tid, word, old.tid + 1);
}

/* The link of the first object. The count also ends the list, because an object that was freed
 * twice makes it a ring. */
static unsigned link_behind(struct cpu_slab *slab, struct list list)
{
	unsigned link =
		__atomic_load_n(&cpu_slab_stack(slab)[FIRST(list.word) - 1], __ATOMIC_RELAXED);

	return COUNT(list.word) > 1 ? link : 0;
}

static void *cas_pop(char *slots)
{
	int cpu = cpu_locked_cpu();
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	struct cpu_slab *slab = __atomic_load_n(&slot->current, __ATOMIC_ACQUIRE);

	if (!slab)
		return NULL;
	for (;;) {
		struct list list = list_read(slab);
		unsigned first = FIRST(list.word);

		if (OWNER(list.word) != (uint32_t)cpu || !first)
			return NULL;
		/* The slab may have been released and be owned by this CPU for another user. If
		 * it is still current now, an exchange with this id proves that it was current
		 * when it was read. */
		if (__atomic_load_n(&slot->current, __ATOMIC_ACQUIRE) != slab)
			return NULL;

		uint64_t word =
			list_word(link_behind(slab, list), COUNT(list.word) - 1, (uint32_t)cpu);

		if (list_exchange(slab, list, word))
			return slab->base + (size_t)(first - 1) * slab->size8 * 8;
	}
}

static size_t cas_pop_bulk(char *slots, size_t n, void **objs)
{
	size_t done = 0;

	while (done < n && (objs[done] = cas_pop(slots)))
		done++;
	for (size_t i = 0; i < done / 2; i++) {
		void *obj = objs[i];

		objs[i] = objs[done - 1 - i];
		objs[done - 1 - i] = obj;
	}
	return done;
}

/* Link objects that the caller frees in front of `first`. Returns the new first. */
static unsigned link_objects(struct cpu_slab *slab, unsigned n, const uint16_t *offset8,
			     unsigned first)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned index = cpu_slab_index(slab, offset8[i]);

		__atomic_store_n(&cpu_slab_stack(slab)[index], (uint16_t)first, __ATOMIC_RELAXED);
		first = index + 1;
	}
	return first;
}

/* All links are written again after an exchange that failed: the slab may have been isolated in the
 * meantime, and the layer above then uses the links of allocated objects for data of its own. */
static enum cpu_result cas_push_bulk(char *slots, int cpu, struct cpu_slab *slab, unsigned n,
				     const uint16_t *offset8)
{
	(void)slots;
	for (;;) {
		struct list list = list_read(slab);
		unsigned count = COUNT(list.word) + n, first;

		if (OWNER(list.word) != (uint32_t)cpu)
			return CPU_MISS;
		/* Before a link is written: the links of objects that are free already are in use. */
		if (count > cpu_slab_room(slab))
			return CPU_FULL;
		first = link_objects(slab, n, offset8, FIRST(list.word));
		if (list_exchange(slab, list, list_word(first, count, (uint32_t)cpu)))
			return CPU_DONE;
	}
}

static enum cpu_result cas_push(char *slots, int cpu, struct cpu_slab *slab, uint16_t offset8)
{
	struct list list = list_read(slab);

	if (OWNER(list.word) == (uint32_t)cpu &&
	    FIRST(list.word) == cpu_slab_index(slab, offset8) + 1)
		return CPU_DOUBLE;
	return cas_push_bulk(slots, cpu, slab, 1, &offset8);
}

/* cas_disown() checks whether the slab is exhausted, in the same exchange. */
static enum cpu_result cas_retire(char *slots, int cpu, struct cpu_slab *slab)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	bool done;

	cpu_slot_lock(slot);
	done = !__atomic_load_n(&slot->closed, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&slot->current, __ATOMIC_RELAXED) == slab;
	if (done)
		__atomic_store_n(&slot->current, NULL, __ATOMIC_RELAXED);
	cpu_slot_unlock(slot);
	return done ? CPU_DONE : CPU_MISS;
}

static void cas_revoke(char *slots, int cpu, struct cpu_slab *slab)
{
	struct list list;

	(void)slots;
	(void)cpu;
	do
		list = list_read(slab);
	while (!list_exchange(slab, list, list_word(FIRST(list.word), COUNT(list.word), CPU_NONE)));
}

static enum cpu_result cas_disown(char *slots, int cpu, struct cpu_slab *slab, bool exhausted)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	enum cpu_result result = CPU_MISS;

	cpu_slot_lock(slot);
	while (!__atomic_load_n(&slot->closed, __ATOMIC_RELAXED)) {
		struct list list = list_read(slab);

		if (OWNER(list.word) != (uint32_t)cpu || (exhausted && FIRST(list.word)))
			break;
		if (list_exchange(slab, list,
				  list_word(FIRST(list.word), COUNT(list.word), CPU_NONE))) {
			result = CPU_DONE;
			break;
		}
	}
	cpu_slot_unlock(slot);
	return result;
}

const struct cpu_engine cpu_engine_cmpxchg16b = {
	.name = "cmpxchg16b",
	.cpu = cpu_locked_cpu,
	.pop = cas_pop,
	.lifo_pop = cpu_locked_lifo_pop,
	.lifo_push = cpu_locked_lifo_push,
	.lifo_take = cpu_locked_lifo_take,
	.lifo_push_bulk = cpu_locked_lifo_push_bulk,
	.push = cas_push,
	.pop_bulk = cas_pop_bulk,
	.push_bulk = cas_push_bulk,
	.install = cpu_locked_install,
	.retire = cas_retire,
	.disown = cas_disown,
	.revoke = cas_revoke,
	.partial_push = cpu_locked_partial_push,
	.partial_pop = cpu_locked_partial_pop,
	.partial_take = cpu_locked_partial_take,
	.batch_add = cpu_locked_batch_add,
	.batch_take = cpu_locked_batch_take,
	.fence = cpu_locked_fence,
	.links = true,
	.locks = true,
};
