/* SPDX-License-Identifier: MIT */
/*
 * The mutex engine: every section runs under its array's lock, in plain C. It serves sanitizers,
 * which cannot see into assembly, and machines without the other engines. The thread may be
 * migrated, so a section on CPU c may run on any CPU; the thread chose c by looking where it ran.
 *
 * Why fence() does not wait. A section reads the user's pointer a second time under the lock, and
 * goes to the array only if it still leads there. close() takes the lock after the pointer was set
 * to another value. A section that had the lock before close() has committed, and close() finds
 * what it left; one that gets the lock later sees the pointer's new value. So after close() no
 * section commits to the array, whatever it read before, until the pointer leads there again.
 *
 * close() takes no lock of an array that is empty and unlocked, because arrays of unused CPUs have
 * no memory. A section that takes the lock after close() saw it free sees the pointer's new value
 * too: both threads have a full fence between their write (the pointer, the lock) and their read
 * (the lock, the pointer).
 */
#include "engine.h"

#include <string.h>

/* Lock the array of the thread's CPU. NULL: the user's arrays are closed. */
static struct cpu_array *enter(char *const *arrays)
{
	const char *none = cpu_arrays_none();

	for (;;) {
		char *row0 = cpu_arrays_of(arrays);
		struct cpu_array *array = cpu_array(row0, cpu_by_kernel());

		if (row0 == none)
			return NULL;
		GUARD_STEP(mutex_lock, cpu_lock_take(&array->lock));
#ifndef __x86_64__ /* on x86-64 the exchange is a full fence */
		cpu_full_fence();
#endif
		if (GUARD(mutex_pointer_again, __atomic_load_n(arrays, __ATOMIC_SEQ_CST) == row0))
			return array;
		cpu_lock_drop(&array->lock);
	}
}

static void leave(struct cpu_array *array, uint64_t count)
{
	cpu_inject(2);
	__atomic_store_n(&array->count, count, __ATOMIC_RELEASE);
	cpu_lock_drop(&array->lock);
}

static size_t mutex_take(char *const *arrays, size_t n, void **objs)
{
	struct cpu_array *array = enter(arrays);

	if (!array)
		return 0;
	if (GUARD_AGAINST(mutex_take_count, n > array->count))
		n = array->count;
	if (n)
		memcpy(objs, array->obj + array->count - n, n * sizeof(objs[0]));
	leave(array, array->count - n);
	return n;
}

static void *mutex_pop(char *const *arrays)
{
	struct cpu_array *array = enter(arrays);
	void *obj = NULL;
	uint64_t count;

	if (!array)
		return NULL;
	count = array->count;
	if (count)
		obj = array->obj[--count];
	leave(array, count);
	return obj;
}

/* Objects are stored as atomics: cpu_array_object() reads without the lock. */
static void store(struct cpu_array *array, size_t n, void *const *objs)
{
	for (size_t i = 0; i < n; i++)
		__atomic_store_n(&array->obj[array->count + i], objs[i], __ATOMIC_RELAXED);
}

static size_t mutex_put(char *const *arrays, size_t n, void *const *objs)
{
	struct cpu_array *array = enter(arrays);
	uint64_t limit, room;

	if (!array)
		return 0;
	limit = __atomic_load_n(&array->limit, __ATOMIC_RELAXED);
	room = array->count < limit ? limit - array->count : 0;
	if (GUARD_AGAINST(mutex_put_room, n > room))
		n = room;
	store(array, n, objs);
	leave(array, array->count + n);
	return n;
}

static enum cpu_result mutex_push(char *const *arrays, void *obj)
{
	struct cpu_array *array = enter(arrays);
	enum cpu_result result = CPU_MISS;
	uint64_t count;

	if (!array)
		return CPU_MISS;
	count = array->count;
	if (GUARD_AGAINST(mutex_newest, count && array->obj[count - 1] == obj)) {
		result = CPU_DOUBLE;
	} else if (GUARD(mutex_limit, count < __atomic_load_n(&array->limit, __ATOMIC_RELAXED))) {
		store(array, 1, &obj);
		result = CPU_DONE;
	}
	leave(array, result == CPU_DONE ? count + 1 : count);
	return result;
}

static size_t mutex_close(char *arrays, int cpu, void **objs)
{
	struct cpu_array *array = cpu_array(arrays, cpu);
	size_t n;

	if (GUARD(mutex_close_unlocked,
		  __atomic_load_n(&array->lock.word, __ATOMIC_SEQ_CST) == CPU_LOCK_FREE) &&
	    !__atomic_load_n(&array->count, __ATOMIC_ACQUIRE))
		return 0;
	cpu_lock_take(&array->lock);
	n = array->count;
	memcpy(objs, array->obj, n * sizeof(objs[0]));
	leave(array, 0);
	return n;
}

static void mutex_open(char *arrays, int cpu)
{
	(void)arrays;
	(void)cpu;
}

static bool mutex_fence(void)
{
	cpu_full_fence();
	return true;
}

const struct cpu_engine cpu_engine_mutex = {
	.name = "mutex",
	.cpu = cpu_by_kernel,
	.pop = mutex_pop,
	.push = mutex_push,
	.take = mutex_take,
	.put = mutex_put,
	.close = mutex_close,
	.open = mutex_open,
	.fence = mutex_fence,
	.locks = true,
};
