/* SPDX-License-Identifier: MIT */
/*
 * The choice of an engine. Each candidate must be available and pass a self-test on a scratch
 * slab; if it fails, the next one is tried. The mutex engine always works. The choice is made
 * once and never changes. engine.c sets what other files of this folder need to know about it,
 * so these do not depend on the engine.
 */
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cas16.h"
#include "cpu_cache.h"
#include "locked.h"
#include "rseq.h"

/* Weak, because the C library may be older than its rseq support (2.35). */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

const struct cpu_engine *cpu_engine = &cpu_engine_mutex;

/* The stand-in for struct rseq: a thread on no CPU. The initial-exec model gives it the same
 * offset in every thread. */
static __thread struct {
	uint32_t cpu_id_start;
	int32_t cpu_id;
	uint64_t rseq_cs;
	uint64_t more[2];
} no_rseq __attribute__((tls_model("initial-exec"), aligned(32))) = {0, -1, 0, {0, 0}};

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

/* Push and pop on a scratch slab, and check each case in which a section must fail. */
static bool slab_test(const struct cpu_engine *e, char *slots, int cpu, struct cpu_slab *slab)
{
	static const uint16_t three[] = {0, 8, 16};
	void *obj;
	struct cpu_batch batch;
	struct cpu_slab *popped;

	/* The first access to each page is a write, which saves a page fault. */
	cpu_slot(slots, (long)cpu)->closed = 0;
	cpu_lifo(cpu_slots_lifos(slots), cpu)->count = 0;
	if (e->push(slots, cpu, slab, 0) == CPU_DONE || e->pop(slots))
		return false;
	cpu_slab_set_owner(slab, (uint32_t)cpu);
	if (e->push_bulk(slots, cpu, slab, 2, three) != CPU_DONE ||
	    e->push(slots, cpu, slab, 16) != CPU_DONE ||
	    e->disown(slots, cpu, slab, true) == CPU_DONE)
		return false;
	if (e->install(slots, cpu, slab) != CPU_DONE || e->install(slots, cpu, slab) == CPU_DONE)
		return false;
	for (int i = 2; i >= 0; i--)
		if (e->pop(slots) != slab->base + (size_t)64 * (size_t)i)
			return false;
	if (e->pop(slots) || e->retire(slots, cpu, slab) != CPU_DONE ||
	    e->partial_push(slots, cpu, slab, slab, 1) != CPU_DONE ||
	    e->partial_pop(slots, cpu, &popped) != CPU_DONE || popped != slab)
		return false;
	if (e->batch_add(slots, cpu, slab, 8) != CPU_DONE ||
	    e->batch_take(slots, cpu, &batch) != CPU_DONE || batch.count != 1 ||
	    batch.offset8[0] != 8)
		return false;
	if (e->lifo_push(slots, cpu, slab->base, 1) != CPU_DONE ||
	    e->lifo_push(slots, cpu, slab->base + 64, 1) == CPU_DONE ||
	    e->lifo_take(slots, cpu, 1, &obj) != CPU_DONE || obj != slab->base)
		return false;
	return e->fence(slots) && e->disown(slots, cpu, slab, true) == CPU_DONE &&
	       e->push(slots, cpu, slab, 0) != CPU_DONE;
}

/* A section may be aborted at any time, so the test has several attempts. */
bool cpu_engine_self_test(void)
{
	static CPU_EARLY _Alignas(CPU_CACHELINE) char room[CPU_SLAB_STACK + 3 * sizeof(uint16_t)];
	struct cpu_slab *slab = (struct cpu_slab *)room;
	bool passed = false;

	for (int tries = 0; tries < 16 && !passed; tries++) {
		int cpu = cpu_engine->cpu();
		char *slots = cpu < 0 ? NULL : cpu_slots_create();

		if (!slots)
			return false;
		/* Objects are only addresses here; nothing reads or writes them. */
		memset(room, 0, sizeof(room));
		cpu_slab_init(slab, room, 64, 3, NULL);
		passed = slab_test(cpu_engine, slots, cpu, slab);
		/* A thread that changed its CPU may have used another row. */
		if (passed)
			cpu_slots_destroy_row(slots, cpu);
		else
			cpu_slots_destroy(slots);
	}
	return passed;
}

static void use_engine(const struct cpu_engine *engine)
{
	cpu_engine = engine;
	cpu_slab_set_layout(engine->links);
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

void cpu_slots_lock_all(void)
{
	if (cpu_engine->locks)
		cpu_slots_each(cpu_slot_lock);
}

void cpu_slots_unlock_all(void)
{
	if (cpu_engine->locks)
		cpu_slots_each(cpu_slot_unlock);
}
