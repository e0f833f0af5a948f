/* SPDX-License-Identifier: MIT */
/*
 * The cmpxchg16b engine, for kernels and tools without restartable sequences. No section takes a
 * lock, so a preempted thread blocks nobody. Several threads may act for one CPU at the same time.
 *
 * The head of an array is two words, which one locked instruction exchanges: `count` has the newest
 * object and the number of objects n, `limit` a transaction id with two flags. Entry i, two words
 * in obj[], has object i, counted from the oldest, and a tag. The newest object lies in the head;
 * only if the head says SETTLED, it lies in entry n - 1 too. So entries 0 to n - 2 are *in use*,
 * and with SETTLED also entry n - 1. A push leaves a newest object that is not settled, a pop one
 * that is.
 *
 * Why it is right:
 *
 * 1. Each exchange of the head makes the id larger, and it never becomes smaller as long as the
 *    user has the array. So an exchange that expects an id succeeds only if the head has not
 *    changed since the id was read. Readers read the id first, then the word: an exchange with a
 *    word of a later transaction fails.
 *
 * 2. A push on an object that is not settled must first bring it into its entry (settle): it reads
 *    the entry, then reads the head's id again. If the id is as before, the push exchanges the
 *    entry from what it read to {newest object, id}, and then the head. So each entry that is
 *    written has as its tag an id at which its object was the newest, and two entries with the same
 *    tag in the same place are equal.
 *
 * 3. An entry in use does not change. Let P be the push that brought it into use, with the id t.
 *    Before P's exchange of the head the entry was {object, t}. A thread L that was held up in
 *    settle() could still exchange the entry, if it read the tag t. L read its own id u again after
 *    that, so u >= t. If u = t, L would write what is there. If u > t, the entry was not in use at
 *    u; to be in use again it was settled by a push at an id >= u, so its tag is not t and L's
 *    exchange fails. An entry that was read in two halves, of two transactions, changes nothing in
 *    this: the exchange compares both, and the argument is about the tag.
 *
 * 4. So a thread that pops or takes may read entries one by one: if its exchange of the head
 *    succeeds, the head did not change meanwhile, and neither did entries in use. Each object
 *    leaves by one exchange.
 *
 * 5. close() exchanges the head to an id with the flag CLOSED and no object: every exchange that
 *    expects an earlier id fails, whatever the thread read before, also that of a thread which has
 *    the address of short arrays that long ones replaced, which stay closed. Such a thread may
 *    still write entries, which are not in use; it writes no other memory. So fence() has nothing
 *    to wait for. Only cpu_arrays_destroy() ends this, when no thread is in a function of the user.
 *
 * An array that was never used has the id 0 and no memory, and close() does not write it. So a
 * section may use it only after it has looked at the user's pointer again (open_new), and cannot
 * miss that the pointer was switched before the close: both threads have a full fence between their
 * write (the id, the pointer) and their read (the pointer, the id).
 */
#include "cas16.h"
#include "engine.h"

/* Flags of an id. */
#define CLOSED UINT64_C(1)
#define SETTLED UINT64_C(2)
#define STEP UINT64_C(4)

#define TID_NEW UINT64_C(0)
#define TID_TOUCHED CLOSED /* before it is open for the first time */

struct head {
	uint64_t word, tid;
};

static uint64_t tid_of(const struct cpu_array *array)
{
	return __atomic_load_n(&array->limit, __ATOMIC_ACQUIRE);
}

static struct head head_read(const struct cpu_array *array)
{
	struct head head;

	head.tid = tid_of(array);
	head.word = __atomic_load_n(&array->count, __ATOMIC_ACQUIRE);
	return head;
}

/* Let the head be the next one after `old`. */
static bool head_exchange(struct cpu_array *array, struct head old, uint64_t word, uint64_t flags)
{
	cpu_inject(2);
	return cas16(&array->count, old.word, old.tid, word,
		     ((old.tid | (STEP - 1)) + GUARD_AGAINST(cas_next_id, 1)) | flags);
}

static size_t count_in(uint64_t word)
{
	return word >> CPU_PAIR_COUNT_SHIFT;
}

static void *newest_in(uint64_t word)
{
	return (void *)(uintptr_t)(word & CPU_PAIR_OBJECT);
}

static uint64_t word_of(const void *newest, size_t count)
{
	return (uint64_t)(uintptr_t)newest | (uint64_t)count << CPU_PAIR_COUNT_SHIFT;
}

static uint64_t *entry(struct cpu_array *array, size_t i)
{
	return (uint64_t *)&array->obj[2 * i];
}

/* Object i of an array with this head. */
static void *object_at(struct cpu_array *array, uint64_t word, size_t i)
{
	if (i + 1 == count_in(word))
		return newest_in(word);
	return (void *)(uintptr_t)__atomic_load_n(entry(array, i), __ATOMIC_RELAXED);
}

/* The head's word when only `count` objects are left. */
static uint64_t word_of_rest(struct cpu_array *array, uint64_t word, size_t count)
{
	return count ? word_of(object_at(array, word, count - 1), count) : 0;
}

static struct cpu_array *here(const char *row0)
{
	return cpu_array(row0, cpu_by_kernel());
}

static size_t cas_take(char *const *arrays, size_t n, void **objs)
{
	struct cpu_array *array = here(cpu_arrays_of(arrays));

	for (;;) {
		const struct head head = head_read(array);
		const size_t count = count_in(head.word), some = n < count ? n : count;

		if (!some)
			return 0;
		for (size_t i = 0; i < some; i++)
			objs[i] = object_at(array, head.word, count - some + i);
		if (head_exchange(array, head, word_of_rest(array, head.word, count - some),
				  some < count ? SETTLED : 0))
			return some;
	}
}

static void *cas_pop(char *const *arrays)
{
	void *obj;

	return cas_take(arrays, 1, &obj) ? obj : NULL;
}

/* Bring the newest object into its entry. false: the head or the entry has changed. */
static bool settle(struct cpu_array *array, struct head head)
{
	uint64_t *to = entry(array, count_in(head.word) - 1);
	const uint64_t newest = head.word & CPU_PAIR_OBJECT;
	const uint64_t tag = __atomic_load_n(&to[1], __ATOMIC_ACQUIRE);
	const uint64_t value = __atomic_load_n(&to[0], __ATOMIC_ACQUIRE);

	if (value == newest && GUARD(cas_settled_tag, tag == head.tid))
		return true;
	if (GUARD_AGAINST(cas_settle_again, tid_of(array) != head.tid))
		return false;
	cpu_inject(4);
	return cas16(to, value, tag, newest, GUARD_AGAINST(cas_tag, head.tid));
}

/* Let sections use an array that was never used, if the user's pointer still leads to it. false: it
 * does not. */
static bool open_new(char *const *arrays, const char *row0, struct cpu_array *array)
{
	cas16(&array->count, 0, TID_NEW, 0, TID_TOUCHED);
	cpu_full_fence();
	cpu_inject(7);
	if (GUARD_AGAINST(cas_new_pointer, __atomic_load_n(arrays, __ATOMIC_SEQ_CST) != row0))
		return false;
	cas16(&array->count, 0, TID_TOUCHED, 0, STEP);
	return true;
}

static enum cpu_result cas_push(char *const *arrays, void *obj)
{
	const char *row0 = cpu_arrays_of(arrays);
	struct cpu_array *array = here(row0);

	for (;;) {
		const struct head head = head_read(array);
		const size_t count = count_in(head.word);

		if (GUARD_AGAINST(cas_newest, count && newest_in(head.word) == obj))
			return CPU_DOUBLE;
		/* The arrays of no user are read-only, and their bound is 0. */
		if (GUARD_AGAINST(cas_limit,
				  count >= __atomic_load_n(&array->bound, __ATOMIC_RELAXED)))
			return CPU_MISS;
		if (GUARD_AGAINST(cas_new, head.tid == TID_NEW || head.tid == TID_TOUCHED)) {
			if (!open_new(arrays, row0, array))
				return CPU_MISS;
			continue;
		}
		if (GUARD_AGAINST(cas_closed, head.tid & CLOSED))
			return CPU_MISS;
		if (GUARD_AGAINST(cas_settles,
				  count && !(head.tid & SETTLED) && !settle(array, head)))
			continue;
		if (head_exchange(array, head, word_of(obj, count + 1), 0))
			return CPU_DONE;
	}
}

/* An object that is the newest already ends the run; push() of it says so. */
static size_t cas_put(char *const *arrays, size_t n, void *const *objs)
{
	size_t done = 0;

	while (done < n && cas_push(arrays, objs[done]) == CPU_DONE)
		done++;
	return done;
}

static size_t cas_close(char *arrays, int cpu, void **objs)
{
	struct cpu_array *array = cpu_array(arrays, cpu);

	for (;;) {
		const struct head head = head_read(array);
		const size_t count = count_in(head.word);

		if (head.tid == TID_NEW)
			return 0;
		for (size_t i = 0; i < count; i++)
			objs[i] = object_at(array, head.word, i);
		/* Also if it is closed: open_new() may be about to open it. */
		if (head_exchange(array, head, 0, GUARD_AGAINST(cas_close_flag, CLOSED)))
			return count;
	}
}

static void cas_open(char *arrays, int cpu)
{
	struct cpu_array *array = cpu_array(arrays, cpu);
	const struct head head = {0, tid_of(array)};

	if (head.tid & CLOSED)
		head_exchange(array, head, 0, 0);
}

/* For arrays that were never used, and for the caller's store to the pointer. */
static bool cas_fence(void)
{
	cpu_full_fence();
	return true;
}

const struct cpu_engine cpu_engine_cmpxchg16b = {
	.name = "cmpxchg16b",
	.cpu = cpu_by_kernel,
	.pop = cas_pop,
	.push = cas_push,
	.take = cas_take,
	.put = cas_put,
	.close = cas_close,
	.open = cas_open,
	.fence = cas_fence,
	.pairs = true,
};
