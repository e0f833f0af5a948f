/* SPDX-License-Identifier: MIT */
/*
 * The rseq engine: sections are restartable sequences.
 *
 * Nothing here locks the bus. A section on CPU c is safe against other threads on c, because the
 * kernel aborts it if they ran. It is safe against other CPUs, because these do not write what c
 * uses, until the user's pointer leads elsewhere and a fence has ended every section that read
 * the old value.
 *
 * A sequence that misses does not say why. The functions here look at the array outside of it, in
 * any order, and so may be wrong; but only a sequence decides that an object was freed twice.
 *
 * The C library registers each thread (glibc 2.35 and later). libslab only writes the rseq_cs
 * field.
 */
#include "rseq.h"

#include <string.h>

#include "engine.h"

CPU_EARLY long cpu_rseq_offset;

/*
 * A debugger that single-steps a thread interrupts every sequence, so no retry ends. A thread whose
 * sections failed RESTARTS_MAX times in a row without a reason counts as on no CPU, for which the
 * layer above has other ways. After WITHOUT_CPU questions for its CPU it tries sections again. Only
 * sections off the fast path count.
 */
#define RESTARTS_MAX 16u
#define WITHOUT_CPU 1024u

static __thread unsigned restarts __attribute__((tls_model("initial-exec")));

static void aborted(void)
{
	if (restarts < RESTARTS_MAX)
		restarts++;
}

static int rseq_cpu(void)
{
	int cpu = cpu_rseq_number();

	if (__builtin_expect(restarts >= RESTARTS_MAX, 0)) {
		restarts = restarts < RESTARTS_MAX + WITHOUT_CPU ? restarts + 1 : 0;
		return -1;
	}
	cpu_seen(cpu);
	return cpu;
}

/* The array of the CPU where the thread is now. NULL: it is on none. */
static struct cpu_array *here(char *const *arrays)
{
	const int cpu = rseq_cpu();

	return cpu < 0 ? NULL : cpu_array(cpu_arrays_of(arrays), cpu);
}

static uint64_t count_of(const struct cpu_array *array)
{
	return __atomic_load_n(&array->count, __ATOMIC_RELAXED);
}

static uint64_t limit_of(const struct cpu_array *array)
{
	return __atomic_load_n(&array->limit, __ATOMIC_RELAXED);
}

/* All loops end: here() returns NULL after RESTARTS_MAX failures. */
static void *engine_pop(char *const *arrays)
{
	const struct cpu_array *array;
	void *obj;

	while ((array = here(arrays))) {
		if (rseq_pop(arrays, cpu_rseq_offset, &obj)) {
			restarts = 0;
			return obj;
		}
		if (!count_of(array))
			return NULL;
		aborted();
	}
	return NULL;
}

/* Does the object seem to be the newest? */
static bool looks_newest(const struct cpu_array *array, const void *obj)
{
	const uint64_t n = count_of(array);

	return n && __atomic_load_n(&array->obj[n - 1], __ATOMIC_RELAXED) == obj;
}

static enum cpu_result engine_push(char *const *arrays, void *obj)
{
	const struct cpu_array *array;

	while ((array = here(arrays))) {
		if (rseq_push(arrays, obj, cpu_rseq_offset)) {
			restarts = 0;
			return CPU_DONE;
		}
		if (GUARD_AGAINST(rseq_newest, rseq_is_newest(arrays, obj, cpu_rseq_offset)))
			return CPU_DOUBLE;
		if (!looks_newest(array, obj) && count_of(array) >= limit_of(array))
			return CPU_MISS;
		aborted();
	}
	return CPU_MISS;
}

static size_t engine_take(char *const *arrays, size_t n, void **objs)
{
	const struct cpu_array *array;

	while ((array = here(arrays))) {
		const uint64_t count = count_of(array);
		const size_t some = n < count ? n : (size_t)count;

		if (!some)
			return 0;
		if (rseq_take(arrays, some, objs, cpu_rseq_offset)) {
			restarts = 0;
			return some;
		}
		aborted();
	}
	return 0;
}

static size_t engine_put(char *const *arrays, size_t n, void *const *objs)
{
	const struct cpu_array *array;

	while ((array = here(arrays))) {
		const uint64_t count = count_of(array), limit = limit_of(array);
		const uint64_t room = count < limit ? limit - count : 0;
		const size_t some = n < room ? n : (size_t)room;

		if (!some)
			return 0;
		if (rseq_put(arrays, some, objs, cpu_rseq_offset)) {
			restarts = 0;
			return some;
		}
		aborted();
	}
	return 0;
}

/* The fence has ended all sections that could reach the array, and later ones do not reach it. An
 * array of a CPU that never used it is only read, so it takes no memory. */
static size_t engine_close(char *arrays, int cpu, void **objs)
{
	struct cpu_array *array = cpu_array(arrays, cpu);
	const size_t n = (size_t)__atomic_load_n(&array->count, __ATOMIC_ACQUIRE);

	if (!n)
		return 0;
	memcpy(objs, array->obj, n * sizeof(objs[0]));
	__atomic_store_n(&array->count, 0, __ATOMIC_RELEASE);
	return n;
}

/* The pointer keeps sections away, and nothing else. */
static void engine_open(char *arrays, int cpu)
{
	(void)arrays;
	(void)cpu;
}

const struct cpu_engine cpu_engine_rseq = {
	.name = "rseq",
	.cpu = rseq_cpu,
	.pop = engine_pop,
	.push = engine_push,
	.take = engine_take,
	.put = engine_put,
	.close = engine_close,
	.open = engine_open,
	.fence = rseq_fence,
};
