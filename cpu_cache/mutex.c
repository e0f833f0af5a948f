/* SPDX-License-Identifier: MIT */
/*
 * The mutex engine: every section runs under its slot's lock, in plain C. It serves sanitizers,
 * which cannot see into assembly, and machines without the other engines. The test suite
 * compares the other engines with it.
 *
 * Slabs have the layout of the rseq engine, a stack of offsets.
 */
#include "inject.h"
#include "locked.h"

static uint32_t height(const struct cpu_slab *slab)
{
	return (uint32_t)__atomic_load_n(&cpu_slab_freelist(slab)->local, __ATOMIC_RELAXED);
}

static void set_height(struct cpu_slab *slab, uint32_t to)
{
	__atomic_store_n(&cpu_slab_freelist(slab)->local, to, __ATOMIC_RELAXED);
}

static void clear_owner(struct cpu_slab *slab)
{
	__atomic_store_n(&slab->owner, CPU_NONE, __ATOMIC_RELAXED);
}

static size_t mutex_pop_bulk(char *slots, size_t n, void **objs)
{
	int cpu = cpu_locked_cpu();
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	size_t done = 0;

	cpu_slot_lock(slot);

	struct cpu_slab *slab = __atomic_load_n(&slot->current, __ATOMIC_RELAXED);

	if (slab) {
		const uint32_t top = height(slab);
		const uint32_t left = top > n ? top - (uint32_t)n : 0;

		for (uint32_t i = left; i < top; i++)
			objs[done++] = cpu_slab_object(slab, cpu_slab_stack(slab)[i]);
		cpu_inject(2);
		set_height(slab, left);
	}
	cpu_slot_unlock(slot);
	return done;
}

static void *mutex_pop(char *slots)
{
	void *obj;

	return mutex_pop_bulk(slots, 1, &obj) ? obj : NULL;
}

/* The caller holds the slot's lock, so the owner does not change. */
static enum cpu_result push_entries(struct cpu_slab *slab, unsigned n, const uint16_t *offset8)
{
	uint32_t top = height(slab);

	if (top + n > cpu_slab_room(slab))
		return CPU_FULL;
	for (unsigned i = 0; i < n; i++)
		cpu_slab_stack(slab)[top + i] = offset8[i];
	cpu_inject(5);
	set_height(slab, top + n);
	return CPU_DONE;
}

static enum cpu_result mutex_push_bulk(char *slots, int cpu, struct cpu_slab *slab, unsigned n,
				       const uint16_t *offset8)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	enum cpu_result result = CPU_MISS;

	if (cpu_slab_owner(slab) != (uint32_t)cpu)
		return CPU_MISS;
	cpu_slot_lock(slot);
	if (cpu_slab_owner(slab) == (uint32_t)cpu)
		result = push_entries(slab, n, offset8);
	cpu_slot_unlock(slot);
	return result;
}

static enum cpu_result mutex_push(char *slots, int cpu, struct cpu_slab *slab, uint16_t offset8)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	enum cpu_result result = CPU_MISS;

	if (cpu_slab_owner(slab) != (uint32_t)cpu)
		return CPU_MISS;
	cpu_slot_lock(slot);
	if (cpu_slab_owner(slab) == (uint32_t)cpu) {
		bool is_top = cpu_slab_stack(slab)[(ptrdiff_t)height(slab) - 1] == offset8;

		result = is_top ? CPU_DOUBLE : push_entries(slab, 1, &offset8);
	}
	cpu_slot_unlock(slot);
	return result;
}

static enum cpu_result mutex_retire(char *slots, int cpu, struct cpu_slab *slab)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	bool done;

	cpu_slot_lock(slot);
	done = !__atomic_load_n(&slot->closed, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&slot->current, __ATOMIC_RELAXED) == slab && !height(slab);
	if (done)
		__atomic_store_n(&slot->current, NULL, __ATOMIC_RELAXED);
	cpu_slot_unlock(slot);
	return done ? CPU_DONE : CPU_MISS;
}

static enum cpu_result mutex_disown(char *slots, int cpu, struct cpu_slab *slab, bool exhausted)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	bool done;

	cpu_slot_lock(slot);
	done = !__atomic_load_n(&slot->closed, __ATOMIC_RELAXED) &&
	       cpu_slab_owner(slab) == (uint32_t)cpu && !(exhausted && height(slab));
	if (done)
		clear_owner(slab);
	cpu_slot_unlock(slot);
	return done ? CPU_DONE : CPU_MISS;
}

static void mutex_revoke(char *slots, int cpu, struct cpu_slab *slab)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);

	cpu_slot_lock(slot);
	clear_owner(slab);
	cpu_slot_unlock(slot);
}

const struct cpu_engine cpu_engine_mutex = {
	.name = "mutex",
	.cpu = cpu_locked_cpu,
	.pop = mutex_pop,
	.lifo_pop = cpu_locked_lifo_pop,
	.lifo_push = cpu_locked_lifo_push,
	.lifo_take = cpu_locked_lifo_take,
	.lifo_push_bulk = cpu_locked_lifo_push_bulk,
	.push = mutex_push,
	.pop_bulk = mutex_pop_bulk,
	.push_bulk = mutex_push_bulk,
	.install = cpu_locked_install,
	.retire = mutex_retire,
	.disown = mutex_disown,
	.revoke = mutex_revoke,
	.partial_push = cpu_locked_partial_push,
	.partial_pop = cpu_locked_partial_pop,
	.partial_take = cpu_locked_partial_take,
	.batch_add = cpu_locked_batch_add,
	.batch_take = cpu_locked_batch_take,
	.fence = cpu_locked_fence,
	.locks = true,
};
