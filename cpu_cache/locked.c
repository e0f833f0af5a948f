/* SPDX-License-Identifier: MIT */
/* Sections under a slot's lock; see locked.h and pseudocode.h. */
#include "locked.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject.h"

/* SLEEPERS: locked, and threads may sleep until it is free. */
enum { FREE, LOCKED, SLEEPERS };

/* Looks at a lock before a thread sleeps: most holders have the CPU and need a few instructions. */
#define LOOKS 64u

static void futex(struct cpu_slot *slot, int op, uint32_t value)
{
	int saved = errno;

	syscall(SYS_futex, &slot->lock, op, value, NULL, NULL, 0);
	errno = saved;
}

/* The holder may be preempted by this thread, which may have a real-time priority. So spinning, or
 * sched_yield(), could last for ever. */
static __attribute__((noinline, cold)) void lock_slowly(struct cpu_slot *slot)
{
	for (unsigned looks = 0; looks < LOOKS; looks++)
		if (__atomic_load_n(&slot->lock, __ATOMIC_RELAXED) == FREE)
			break;
	while (__atomic_exchange_n(&slot->lock, SLEEPERS, __ATOMIC_ACQUIRE) != FREE)
		futex(slot, FUTEX_WAIT_PRIVATE, SLEEPERS);
}

void cpu_slot_lock(struct cpu_slot *slot)
{
	uint32_t expected = FREE;

	if (!__atomic_compare_exchange_n(&slot->lock, &expected, LOCKED, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		lock_slowly(slot);
#ifndef __x86_64__ /* on x86-64 the exchange is a full barrier */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

void cpu_slot_unlock(struct cpu_slot *slot)
{
	if (__atomic_exchange_n(&slot->lock, FREE, __ATOMIC_RELEASE) == SLEEPERS)
		futex(slot, FUTEX_WAKE_PRIVATE, 1);
}

int cpu_locked_cpu(void)
{
	int cpu = sched_getcpu();

	if (cpu < 0)
		return 0;
	if (cpu < (int)__atomic_load_n(&cpu_possible_count, __ATOMIC_RELAXED))
		return cpu;
	return (unsigned)cpu < cpu_possible() ? cpu : 0;
}

/* Lock the slot. false: the slot is closed, and not locked. */
static bool enter(struct cpu_slot *slot)
{
	cpu_slot_lock(slot);
	/* Acquire: the thread that opened the slot changed it without the lock. */
	if (!__atomic_load_n(&slot->closed, __ATOMIC_ACQUIRE))
		return true;
	cpu_slot_unlock(slot);
	return false;
}

static enum cpu_result leave(struct cpu_slot *slot, bool done)
{
	cpu_inject(6);
	cpu_slot_unlock(slot);
	return done ? CPU_DONE : CPU_MISS;
}

void *cpu_locked_lifo_pop(char *slots)
{
	(void)slots;
	return NULL;
}

/* The limit of the LIFO stays as it is: it is for rseq_pop() and rseq_push(). */
enum cpu_result cpu_locked_lifo_push_bulk(char *slots, int cpu, size_t n, void *const *objs,
					  uint64_t max)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	struct cpu_lifo *lifo = cpu_lifo(cpu_slots_lifos(slots), cpu);

	if (!enter(slot))
		return CPU_MISS;
	if (lifo->count && lifo->obj[lifo->count - 1] == objs[0]) {
		cpu_slot_unlock(slot);
		return CPU_DOUBLE;
	}
	if (lifo->count && lifo->count + n > max)
		return leave(slot, false);
	memcpy(lifo->obj + lifo->count, objs, n * sizeof(objs[0]));
	__atomic_store_n(&lifo->count, lifo->count + n, __ATOMIC_RELAXED);
	return leave(slot, true);
}

enum cpu_result cpu_locked_lifo_push(char *slots, int cpu, void *obj, uint64_t max)
{
	return max ? cpu_locked_lifo_push_bulk(slots, cpu, 1, &obj, max) : CPU_MISS;
}

enum cpu_result cpu_locked_lifo_take(char *slots, int cpu, size_t n, void **objs)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	struct cpu_lifo *lifo = cpu_lifo(cpu_slots_lifos(slots), cpu);

	if (!enter(slot))
		return CPU_MISS;
	if (lifo->count < n)
		return leave(slot, false);
	memcpy(objs, lifo->obj + lifo->count - n, n * sizeof(objs[0]));
	__atomic_store_n(&lifo->count, lifo->count - n, __ATOMIC_RELAXED);
	return leave(slot, true);
}

enum cpu_result cpu_locked_install(char *slots, int cpu, struct cpu_slab *slab)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);

	if (!enter(slot))
		return CPU_MISS;
	if (__atomic_load_n(&slot->current, __ATOMIC_RELAXED))
		return leave(slot, false);
	__atomic_store_n(&slot->current, slab, __ATOMIC_RELEASE);
	return leave(slot, true);
}

enum cpu_result cpu_locked_partial_push(char *slots, int cpu, struct cpu_slab *first,
					struct cpu_slab *last, unsigned n)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);

	if (!enter(slot))
		return CPU_MISS;
	last->next = slot->partial;
	__atomic_store_n(&slot->partial, cpu_word(first, cpu_word_count(last->next) + n),
			 __ATOMIC_RELAXED);
	return leave(slot, true);
}

enum cpu_result cpu_locked_partial_pop(char *slots, int cpu, struct cpu_slab **ret_slab)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);

	if (!enter(slot))
		return CPU_MISS;

	struct cpu_slab *slab = cpu_word_slab(slot->partial);

	if (slab)
		__atomic_store_n(&slot->partial, slab->next, __ATOMIC_RELAXED);
	*ret_slab = slab;
	return leave(slot, slab != NULL);
}

enum cpu_result cpu_locked_partial_take(char *slots, int cpu, uint64_t *ret_word)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);

	if (!enter(slot))
		return CPU_MISS;
	*ret_word = slot->partial;
	__atomic_store_n(&slot->partial, 0, __ATOMIC_RELAXED);
	return leave(slot, *ret_word != 0);
}

enum cpu_result cpu_locked_batch_add(char *slots, int cpu, struct cpu_slab *slab, uint16_t offset8)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);

	if (!enter(slot))
		return CPU_MISS;

	uint64_t word = slot->remote_batch;
	unsigned count = cpu_word_count(word);

	if (word && cpu_word_slab(word) == slab && slot->remote_batch_buf[count - 1] == offset8) {
		cpu_slot_unlock(slot);
		return CPU_DOUBLE;
	}
	if (word && (cpu_word_slab(word) != slab || count == CPU_BATCH_MAX))
		return leave(slot, false);
	slot->remote_batch_buf[count] = offset8;
	__atomic_store_n(&slot->remote_batch, cpu_word(slab, count + 1), __ATOMIC_RELAXED);
	return leave(slot, true);
}

enum cpu_result cpu_locked_batch_take(char *slots, int cpu, struct cpu_batch *batch)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);

	if (!enter(slot))
		return CPU_MISS;
	batch->slab = cpu_word_slab(slot->remote_batch);
	batch->count = cpu_word_count(slot->remote_batch);
	memcpy(batch->offset8, slot->remote_batch_buf, batch->count * sizeof(batch->offset8[0]));
	__atomic_store_n(&slot->remote_batch, 0, __ATOMIC_RELAXED);
	return leave(slot, batch->slab != NULL);
}

/*
 * First only read, because slots of unused CPUs have no memory. A thread that takes a lock after this
 * read saw it free also sees what the caller stored before: both threads have a full barrier
 * between their write and their read.
 */
bool cpu_locked_fence(char *slots)
{
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		struct cpu_slot *slot = cpu_slot(slots, cpu);

		if (__atomic_load_n(&slot->lock, __ATOMIC_SEQ_CST) == FREE)
			continue;
		cpu_slot_lock(slot);
		cpu_slot_unlock(slot);
	}
	return true;
}
