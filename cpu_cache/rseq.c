/* SPDX-License-Identifier: MIT */
/*
 * The rseq engine: sections are restartable sequences.
 *
 * Nothing here locks the bus. A section on CPU c is safe against other threads on c, because the
 * kernel aborts it if they ran. It is safe against other CPUs, because these do not write what c
 * owns. A function reads values twice: first outside the section to prepare it, in any order,
 * and then inside to compare, with acquire.
 *
 * The C library registers each thread (glibc 2.35 and later). libslab only writes the rseq_cs
 * field.
 */
#include "rseq.h"

CPU_EARLY long cpu_rseq_offset;

/* A condition that always holds. It fills the unused comparisons of a section. */
static const uint64_t zero;

static struct rseq_op op_on(const struct cpu_slot *slot, int cpu, uint64_t *target,
			    const uint64_t *value)
{
	struct rseq_op op;

	/* Member by member: gcc zeroes an initialized struct by a string instruction, which takes
	 * longer than a section. */
	op.cpu = (uint32_t)cpu;
	op.count = 0;
	op.check[0] = &slot->closed;
	op.check[1] = op.check[2] = op.check[3] = &zero;
	op.expect[0] = op.expect[1] = op.expect[2] = op.expect[3] = 0;
	op.from = op.to = NULL;
	op.target = target;
	op.value = value;
	return op;
}

static void op_check(struct rseq_op *op, unsigned n, const uint64_t *word, uint64_t expect)
{
	op->check[n] = word;
	op->expect[n] = expect;
}

/*
 * A debugger that single-steps a thread interrupts every sequence, so no retry ends. A thread whose
 * sections were aborted RESTARTS_MAX times in a row counts as on no CPU, for which the layer above
 * has other ways. After WITHOUT_CPU questions for its CPU it tries sections again. Only sections
 * off the fast path count.
 */
#define RESTARTS_MAX 16u
#define WITHOUT_CPU 1024u

static __thread unsigned restarts __attribute__((tls_model("initial-exec")));

static enum cpu_result moved(void)
{
	if (restarts < RESTARTS_MAX)
		restarts++;
	return CPU_MOVED;
}

static enum cpu_result commit(const struct rseq_op *op)
{
	enum cpu_result result = rseq_commit(op, cpu_rseq_offset);

	if (result == CPU_MOVED)
		return moved();
	restarts = 0;
	return result;
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

static void *engine_pop(char *slots)
{
	void *obj;

	return rseq_pop_current(&slots, cpu_rseq_offset, &obj) ? obj : NULL;
}

/* Make the section read the newest entry of a LIFO of n objects, on condition that the LIFO
 * still has n. The caller has set the committing store. */
static struct rseq_op op_on_newest(struct rseq_op op, const struct cpu_lifo *lifo, uint64_t n,
				   void **ret_obj)
{
	op_check(&op, 1, &lifo->count, n);
	op.from = (const uint16_t *)&lifo->obj[n - 1];
	op.to = (uint16_t *)ret_obj;
	op.count = sizeof(*ret_obj) / sizeof(*op.to);
	return op;
}

static void *engine_lifo_pop(char *slots)
{
	const int cpu = rseq_cpu();
	char *lifos = cpu_slots_lifos(slots);
	struct cpu_lifo *lifo = cpu_lifo(lifos, cpu);
	uint64_t n = __atomic_load_n(&lifo->count, __ATOMIC_RELAXED), value = n - 1;
	struct rseq_op op = op_on(cpu_slot(slots, cpu), cpu, &lifo->count, &value);
	void *obj;

	if (cpu < 0 || !n)
		return NULL;
	if (rseq_pop(&lifos, cpu_rseq_offset, &obj))
		return obj;
	op = op_on_newest(op, lifo, n, &obj);
	return commit(&op) == CPU_DONE ? obj : NULL;
}

/* A section, because popped entries stay in memory: only the count shows which entry is the
 * newest. */
static enum cpu_result read_newest(const struct cpu_slot *slot, int cpu,
				   const struct cpu_lifo *lifo, uint64_t n, void **ret_obj)
{
	uint64_t scratch;
	struct rseq_op op = op_on_newest(op_on(slot, cpu, &scratch, &zero), lifo, n, ret_obj);

	return commit(&op);
}

/* rseq_push() has missed: why? */
static enum cpu_result why_not_pushed(const char *slots, int cpu, const struct cpu_lifo *lifo,
				      const void *obj, uint64_t max)
{
	const struct cpu_slot *slot = cpu_slot((char *)slots, cpu);
	uint64_t n = __atomic_load_n(&lifo->count, __ATOMIC_RELAXED);
	enum cpu_result result;
	void *newest = NULL;

	if (!n || __atomic_load_n(&lifo->obj[n - 1], __ATOMIC_RELAXED) != obj)
		return n < max && !__atomic_load_n(&slot->closed, __ATOMIC_RELAXED) ? moved()
										    : CPU_MISS;
	result = read_newest(slot, cpu, lifo, n, &newest);
	if (result != CPU_DONE)
		return result;
	return newest == obj ? CPU_DOUBLE : CPU_MOVED;
}

/* Set the limit of a LIFO whose slot is open. */
static enum cpu_result open_lifo(const struct cpu_slot *slot, int cpu, struct cpu_lifo *lifo,
				 uint64_t max)
{
	struct rseq_op op;

	if (__atomic_load_n(&lifo->limit, __ATOMIC_RELAXED) == max)
		return CPU_DONE;
	op = op_on(slot, cpu, &lifo->limit, &max);
	return commit(&op);
}

static enum cpu_result engine_lifo_push(char *slots, int cpu, void *obj, uint64_t max)
{
	char *lifos = cpu_slots_lifos(slots);
	struct cpu_lifo *lifo = cpu_lifo(lifos, cpu);
	enum cpu_result result = open_lifo(cpu_slot(slots, cpu), cpu, lifo, max);

	if (result != CPU_DONE)
		return result;
	if (rseq_push(&lifos, obj, cpu_rseq_offset)) {
		restarts = 0;
		return CPU_DONE;
	}
	return why_not_pushed(slots, cpu, lifo, obj, max);
}

/* Copy n pointers before the commit. */
static void op_copy(struct rseq_op *op, size_t n, void *const *from, void **to)
{
	op->from = (const uint16_t *)from;
	op->to = (uint16_t *)to;
	op->count = (uint32_t)(n * sizeof(*to) / sizeof(*op->to));
}

static enum cpu_result engine_lifo_take(char *slots, int cpu, size_t n, void **objs)
{
	struct cpu_lifo *lifo = cpu_lifo(cpu_slots_lifos(slots), cpu);
	uint64_t count = __atomic_load_n(&lifo->count, __ATOMIC_RELAXED), left = count - n;
	struct rseq_op op = op_on(cpu_slot(slots, cpu), cpu, &lifo->count, &left);

	if (count < n)
		return CPU_MISS;
	op_check(&op, 1, &lifo->count, count);
	op_copy(&op, n, lifo->obj + left, objs);
	return commit(&op);
}

/* The section compares the newest object, too: it must still be another one than objs[0]. */
static enum cpu_result engine_lifo_push_bulk(char *slots, int cpu, size_t n, void *const *objs,
					     uint64_t max)
{
	const struct cpu_slot *slot = cpu_slot(slots, cpu);
	struct cpu_lifo *lifo = cpu_lifo(cpu_slots_lifos(slots), cpu);
	const uint64_t count = __atomic_load_n(&lifo->count, __ATOMIC_RELAXED), value = count + n;
	const uint64_t *newest = (const uint64_t *)(lifo->obj + count) - 1; /* or the limit */
	struct rseq_op op = op_on(slot, cpu, &lifo->count, &value);
	const enum cpu_result result = open_lifo(slot, cpu, lifo, max);

	if (result != CPU_DONE)
		return result;
	op_check(&op, 1, &lifo->count, count);
	op_check(&op, 2, newest, __atomic_load_n(newest, __ATOMIC_RELAXED));
	if (op.expect[2] == (uintptr_t)objs[0])
		return why_not_pushed(slots, cpu, lifo, objs[0], max);
	if (count && value > max)
		return CPU_MISS;
	op_copy(&op, n, objs, lifo->obj + count);
	return commit(&op);
}

/* Read the top entry of a stack of this height. A section, because another thread may revoke the
 * slab and overwrite the stack. */
static enum cpu_result read_top(const struct cpu_slot *slot, int cpu, struct cpu_slab *slab,
				uint64_t height, uint16_t *ret_top)
{
	uint64_t scratch;
	struct rseq_op op = op_on(slot, cpu, &scratch, &zero);

	op_check(&op, 0, &slab->owner, (uint32_t)cpu); /* also while the slot is closed */
	op_check(&op, 1, &cpu_slab_freelist(slab)->local, height);
	op.from = cpu_slab_stack(slab) + (ptrdiff_t)height - 1;
	op.to = ret_top;
	op.count = 1;
	return commit(&op);
}

/* Why the push of an object failed: for good, or by an abort. */
static enum cpu_result why_missed(const struct cpu_slot *slot, int cpu, struct cpu_slab *slab,
				  uint16_t offset8)
{
	uint64_t height = __atomic_load_n(&cpu_slab_freelist(slab)->local, __ATOMIC_RELAXED);
	uint16_t top = 0;

	if (cpu_slab_owner(slab) != (uint32_t)cpu)
		return CPU_MISS;
	cpu_inject(3);
	if (read_top(slot, cpu, slab, height, &top) != CPU_DONE)
		return CPU_MOVED;
	if (top == offset8)
		return CPU_DOUBLE;
	return height >= cpu_slab_room(slab) ? CPU_FULL : CPU_MOVED;
}

static enum cpu_result engine_push(char *slots, int cpu, struct cpu_slab *slab, uint16_t offset8)
{
	if (rseq_push_owned(slab, cpu_slab_object(slab, offset8), cpu_rseq_offset))
		return CPU_DONE;
	return why_missed(cpu_slot(slots, cpu), cpu, slab, offset8);
}

static size_t engine_pop_bulk(char *slots, size_t n, void **objs)
{
	int cpu = rseq_cpu();
	struct cpu_slot *slot = cpu_slot(slots, cpu); /* of no CPU: always empty */
	struct cpu_slab *slab = __atomic_load_n(&slot->current, __ATOMIC_RELAXED);
	uint16_t offset8[CPU_BATCH_MAX];

	if (!slab || !n)
		return 0;

	uint64_t local = __atomic_load_n(&cpu_slab_freelist(slab)->local, __ATOMIC_RELAXED);
	char *base = cpu_slab_freelist(slab)->base;
	unsigned height = (unsigned)local;
	unsigned take = n < CPU_BATCH_MAX ? (unsigned)n : CPU_BATCH_MAX;

	if (take > height)
		take = height;
	if (!take)
		return 0;

	uint64_t value = local - take;
	struct rseq_op op = op_on(slot, cpu, &cpu_slab_freelist(slab)->local, &value);

	op_check(&op, 0, (const uint64_t *)&slot->current, (uintptr_t)slab);
	op_check(&op, 1, &cpu_slab_freelist(slab)->local, local);
	op.from = cpu_slab_stack(slab) + height - take;
	op.to = offset8;
	op.count = take;
	if (commit(&op) != CPU_DONE)
		return 0;
	for (unsigned i = 0; i < take; i++)
		objs[i] = base + ((size_t)offset8[i] << 3);
	return take;
}

static enum cpu_result engine_push_bulk(char *slots, int cpu, struct cpu_slab *slab, unsigned n,
					const uint16_t *offset8)
{
	uint64_t local = __atomic_load_n(&cpu_slab_freelist(slab)->local, __ATOMIC_RELAXED);
	uint64_t value = local + n;
	struct rseq_op op =
		op_on(cpu_slot(slots, cpu), cpu, &cpu_slab_freelist(slab)->local, &value);

	if (cpu_slab_owner(slab) != (uint32_t)cpu)
		return CPU_MISS;
	if (value > cpu_slab_room(slab))
		return CPU_FULL;
	op_check(&op, 0, &slab->owner, (uint32_t)cpu);
	op_check(&op, 1, &cpu_slab_freelist(slab)->local, local);
	op.from = offset8;
	op.to = cpu_slab_stack(slab) + local;
	op.count = n;
	/* If a comparison fails, another section or a revocation came first; the caller
	 * retries. */
	return commit(&op) == CPU_DONE ? CPU_DONE : CPU_MOVED;
}

static enum cpu_result engine_install(char *slots, int cpu, struct cpu_slab *slab)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	uint64_t value = (uintptr_t)slab;
	struct rseq_op op = op_on(slot, cpu, (uint64_t *)&slot->current, &value);

	op_check(&op, 1, (const uint64_t *)&slot->current, 0);
	return commit(&op);
}

static enum cpu_result engine_retire(char *slots, int cpu, struct cpu_slab *slab)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	struct rseq_op op = op_on(slot, cpu, (uint64_t *)&slot->current, &zero);

	op_check(&op, 1, (const uint64_t *)&slot->current, (uintptr_t)slab);
	op_check(&op, 2, &cpu_slab_freelist(slab)->local, 0);
	return commit(&op);
}

static enum cpu_result engine_disown(char *slots, int cpu, struct cpu_slab *slab, bool exhausted)
{
	static const uint64_t none = CPU_NONE;
	struct rseq_op op = op_on(cpu_slot(slots, cpu), cpu, &slab->owner, &none);

	op_check(&op, 1, &slab->owner, (uint32_t)cpu);
	if (exhausted)
		op_check(&op, 2, &cpu_slab_freelist(slab)->local, 0);
	return commit(&op);
}

/* Sections may still commit to the height, which is another word. */
static void engine_revoke(char *slots, int cpu, struct cpu_slab *slab)
{
	(void)slots;
	(void)cpu;
	__atomic_store_n(&slab->owner, CPU_NONE, __ATOMIC_SEQ_CST);
}

static enum cpu_result engine_partial_push(char *slots, int cpu, struct cpu_slab *first,
					   struct cpu_slab *last, unsigned n)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	uint64_t word = __atomic_load_n(&slot->partial, __ATOMIC_RELAXED);
	uint64_t value = cpu_word(first, cpu_word_count(word) + n);
	struct rseq_op op = op_on(slot, cpu, &slot->partial, &value);

	op_check(&op, 1, &slot->partial, word);
	last->next = word;
	return commit(&op);
}

static enum cpu_result engine_partial_pop(char *slots, int cpu, struct cpu_slab **ret_slab)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	uint64_t word = __atomic_load_n(&slot->partial, __ATOMIC_RELAXED);
	struct cpu_slab *slab = cpu_word_slab(word);

	if (!slab)
		return CPU_MISS;

	struct rseq_op op = op_on(slot, cpu, &slot->partial, &slab->next);

	op_check(&op, 1, &slot->partial, word);
	*ret_slab = slab;
	return commit(&op);
}

static enum cpu_result engine_partial_take(char *slots, int cpu, uint64_t *ret_word)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	uint64_t word = __atomic_load_n(&slot->partial, __ATOMIC_RELAXED);
	struct rseq_op op = op_on(slot, cpu, &slot->partial, &zero);

	if (!word)
		return CPU_MISS;
	op_check(&op, 1, &slot->partial, word);
	*ret_word = word;
	return commit(&op);
}

/* Read the entry that was appended last to a remote batch with this word. A section, because the
 * batch may have been emptied and may hold objects of another slab. */
static enum cpu_result read_batched(struct cpu_slot *slot, int cpu, uint64_t word, uint16_t *last)
{
	uint64_t scratch;
	struct rseq_op op = op_on(slot, cpu, &scratch, &zero);

	op_check(&op, 1, &slot->remote_batch, word);
	op.from = &slot->remote_batch_buf[cpu_word_count(word) - 1];
	op.to = last;
	op.count = 1;
	return commit(&op);
}

static enum cpu_result engine_batch_add(char *slots, int cpu, struct cpu_slab *slab,
					uint16_t offset8)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	uint64_t word = __atomic_load_n(&slot->remote_batch, __ATOMIC_RELAXED);
	unsigned count = cpu_word_count(word);

	if (word && cpu_word_slab(word) != slab)
		return CPU_MISS;
	if (count &&
	    __atomic_load_n(&slot->remote_batch_buf[count - 1], __ATOMIC_RELAXED) == offset8) {
		uint16_t last = CPU_STACK_BOTTOM;
		enum cpu_result result = read_batched(slot, cpu, word, &last);

		return result != CPU_DONE ? result : last == offset8 ? CPU_DOUBLE : CPU_MOVED;
	}
	if (count == CPU_BATCH_MAX)
		return CPU_MISS;

	uint64_t value = cpu_word(slab, count + 1);
	struct rseq_op op = op_on(slot, cpu, &slot->remote_batch, &value);

	op_check(&op, 1, &slot->remote_batch, word);
	op.from = &offset8;
	op.to = &slot->remote_batch_buf[count];
	op.count = 1;
	return commit(&op);
}

static enum cpu_result engine_batch_take(char *slots, int cpu, struct cpu_batch *batch)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	uint64_t word = __atomic_load_n(&slot->remote_batch, __ATOMIC_RELAXED);
	struct rseq_op op = op_on(slot, cpu, &slot->remote_batch, &zero);

	if (!word)
		return CPU_MISS;
	op_check(&op, 1, &slot->remote_batch, word);
	op.from = slot->remote_batch_buf;
	op.to = batch->offset8;
	op.count = cpu_word_count(word);
	batch->slab = cpu_word_slab(word);
	batch->count = op.count;
	return commit(&op);
}

const struct cpu_engine cpu_engine_rseq = {
	.name = "rseq",
	.cpu = rseq_cpu,
	.pop = engine_pop,
	.lifo_pop = engine_lifo_pop,
	.lifo_push = engine_lifo_push,
	.lifo_take = engine_lifo_take,
	.lifo_push_bulk = engine_lifo_push_bulk,
	.lifos = true,
	.push = engine_push,
	.pop_bulk = engine_pop_bulk,
	.push_bulk = engine_push_bulk,
	.install = engine_install,
	.retire = engine_retire,
	.disown = engine_disown,
	.revoke = engine_revoke,
	.partial_push = engine_partial_push,
	.partial_pop = engine_partial_pop,
	.partial_take = engine_partial_take,
	.batch_add = engine_batch_add,
	.batch_take = engine_batch_take,
	.fence = rseq_fence,
};
