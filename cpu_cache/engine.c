/* SPDX-License-Identifier: MIT */
/*
 * The choice of an engine. Each candidate must be available and pass a self-test on arrays of
 * its own; if it fails, the next one is tried. The mutex engine always works. The choice is made
 * once and never changes. engine.c sets what other files of this folder need to know about it,
 * so these do not depend on the engine.
 */
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cas16.h"
#include "engine.h"

/* Weak, because the C library may be older than its rseq support (2.35). */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

const struct cpu_engine *cpu_engine = &cpu_engine_mutex;

/* The stand-in for what libslab reads and writes of struct rseq: a thread on no CPU. The
 * initial-exec model gives it the same offset in every thread. */
static __thread struct {
	uint32_t cpu_id_start;
	int32_t cpu_id;
	uint64_t rseq_cs;
} no_rseq __attribute__((tls_model("initial-exec"))) = {0, -1, 0};

static long stand_in_offset(void)
{
	return (char *)&no_rseq - (char *)__builtin_thread_pointer();
}

static enum cpu_rseq_lack find_lack(void)
{
	if (!RSEQ_ARCH || !&__rseq_size || !&__rseq_offset || !__rseq_size)
		return CPU_RSEQ_UNREGISTERED;
	if (!rseq_kernel_restarts())
		return CPU_RSEQ_NOT_RESTARTED;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0) != 0)
		return CPU_RSEQ_NOT_FENCED;
	return CPU_RSEQ_LACKS_NOTHING;
}

enum cpu_rseq_lack cpu_rseq_lack;

const char *cpu_rseq_lack_text(enum cpu_rseq_lack lack)
{
	static const char *const texts[] = {
		[CPU_RSEQ_UNREGISTERED] = "the C library registers no threads for rseq(2)",
		[CPU_RSEQ_NOT_RESTARTED] = "Linux 6.19 to 7.0.13 does not restart sequences on "
					   "aarch64 when it preempts a thread",
		[CPU_RSEQ_NOT_FENCED] = "the kernel refuses membarrier(2)",
	};

	return lack < sizeof(texts) / sizeof(texts[0]) ? texts[lack] : NULL;
}

/* Objects are only addresses here; nothing reads or writes them. */
static char object[4];
#define SELF_TEST_LIMIT 3u

/* An open array: each section, and each case in which it must miss. The array is full in the
 * middle, and has object[0] in the end. */
static bool open_test(const struct cpu_engine *e, char *const *arrays)
{
	void *const two[] = {&object[1], &object[2]};
	void *objs[2];

	if (e->pop(arrays) || e->take(arrays, 1, objs) || e->push(arrays, &object[0]) != CPU_DONE ||
	    e->push(arrays, &object[0]) != CPU_DOUBLE || e->put(arrays, 2, two) != 2)
		return false;
	if (e->push(arrays, &object[3]) != CPU_MISS || e->put(arrays, 2, two) ||
	    e->push(arrays, &object[2]) != CPU_DOUBLE)
		return false;
	return e->pop(arrays) == &object[2] && e->take(arrays, 2, objs) == 2 &&
	       objs[0] == &object[0] && objs[1] == &object[1] && !e->pop(arrays) &&
	       e->push(arrays, &object[0]) == CPU_DONE;
}

/* Close arrays that have object[0], and open them. `user` leads to them. */
static bool close_test(const struct cpu_engine *e, char **user, int cpu)
{
	char *own = *user;
	void *objs[SELF_TEST_LIMIT];

	__atomic_store_n(user, cpu_arrays_none(), __ATOMIC_RELEASE);
	if (!*user || !e->fence() || e->pop(user) || e->push(user, &object[1]) != CPU_MISS ||
	    e->take(user, 1, objs) || e->put(user, 1, (void *const[]){&object[1]}))
		return false;
	if (e->close(own, cpu, objs) != 1 || objs[0] != &object[0] ||
	    cpu_array_count(cpu_array(own, cpu)) || e->close(own, cpu, objs))
		return false;
	e->open(own, cpu);
	__atomic_store_n(user, own, __ATOMIC_RELEASE);
	return !e->pop(user) && e->push(user, &object[1]) == CPU_DONE && e->pop(user) == &object[1];
}

/* A section may be aborted at any time, so the test has several attempts. */
bool cpu_engine_self_test(void)
{
	bool passed = false;

	for (int tries = 0; tries < 16 && !passed; tries++) {
		int cpu = cpu_engine->cpu();
		char *own = cpu < 0 ? NULL : cpu_arrays_create(false), *user = own;

		if (!own)
			return false;
		cpu_array_set_limit(cpu_array(own, cpu), SELF_TEST_LIMIT);
		passed = open_test(cpu_engine, &user) && close_test(cpu_engine, &user, cpu);
		/* A thread that changed its CPU may have used another row. */
		if (passed)
			cpu_arrays_destroy_row(own, cpu);
		else
			cpu_arrays_destroy(own);
	}
	return passed;
}

static void use_engine(const struct cpu_engine *engine)
{
	cpu_engine = engine;
	cpu_arrays_set_form(engine->pairs);
	cpu_rseq_offset = engine == &cpu_engine_rseq ? __rseq_offset : stand_in_offset();
}

static bool try_engine(const struct cpu_engine *engine)
{
	if (engine == &cpu_engine_rseq && (cpu_rseq_lack = find_lack()) != CPU_RSEQ_LACKS_NOTHING)
		return false;
	if (engine == &cpu_engine_cmpxchg16b && !cas16_available())
		return false;
	use_engine(engine);
	/* The fast path does not check the CPU's id, so every id needs a row. */
	if (engine == &cpu_engine_rseq && !cpu_rows_cover(engine->cpu()))
		return false;
	return cpu_engine_self_test();
}

bool cpu_engine_init(const char *wanted)
{
	static const struct cpu_engine *const engines[] = {&cpu_engine_rseq, &cpu_engine_cmpxchg16b,
							   &cpu_engine_mutex};
	const size_t count = sizeof(engines) / sizeof(engines[0]);
	size_t first = 0;

	cpu_learn_rows();
	while (wanted && first < count - 1 && strcmp(engines[first]->name, wanted) != 0)
		first++;
	for (size_t i = first; i < count; i++)
		if (try_engine(engines[i]))
			return i == first || !wanted;
	use_engine(&cpu_engine_mutex);
	return !wanted;
}

static void lock_array(struct cpu_array *array)
{
	cpu_lock_take(&array->lock);
}

static void unlock_array(struct cpu_array *array)
{
	cpu_lock_drop(&array->lock);
}

void cpu_arrays_lock_all(void)
{
	cpu_areas_lock();
	if (cpu_engine->locks)
		cpu_arrays_each(lock_array);
}

void cpu_arrays_unlock_all(void)
{
	if (cpu_engine->locks)
		cpu_arrays_each(unlock_array);
	cpu_areas_unlock();
}
