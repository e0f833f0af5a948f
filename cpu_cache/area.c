/* SPDX-License-Identifier: MIT */
/*
 * Areas: the memory of arrays. An area has the arrays of some users by all possible CPUs, laid out
 * [cpu][user], in one mapping that is populated lazily. There are areas of short and of long
 * arrays.
 *
 * Two more rows lie before CPU 0. A thread without restartable sequences reads -1 or -2 as its
 * CPU, and the fast path indexes with that. Count and limit are 0 in these rows and never change.
 * Only the kernel says -2, so where there is no rseq engine because space is short, there is no row
 * for it.
 */
#include "engine.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Enough short ones for 491,520 users, the limit of slab_cache_create(), and long ones for all of
 * them. */
#define AREAS_MAX 32768u
#define ROW_BYTES ((size_t)1 << CPU_ROW_SHIFT)
#define USERS_MAX 511u /* of an area */
#define USED_WORDS ((USERS_MAX + 63) / 64)

/* Lies at the start of the row of CPU -1 of its area. */
struct area {
	char *row0;
	struct area *next; /* newer */
	unsigned number;
	bool is_long;
	uint64_t used[USED_WORDS];
};

/* Areas with arrays of one length. Room of `start` bytes lies before the first array of a row. With
 * this one, each long array has a page for itself, without its head. */
struct kind {
	const size_t bytes, start;
	const unsigned users;
	struct area *first, *last;
	struct area *roomy; /* all areas before this one are full */
};

#define LONG_START ((size_t)1024)

static CPU_EARLY struct kind kinds[] = {
	{CPU_SHORT_BYTES, CPU_SHORT_BYTES, USERS_MAX, NULL, NULL, NULL},
	{CPU_LONG_BYTES, LONG_START, (ROW_BYTES - LONG_START) / CPU_LONG_BYTES, NULL, NULL, NULL},
};

_Static_assert(sizeof(struct area) <= CPU_SHORT_BYTES, "an area lies before all arrays");
_Static_assert(CPU_SHORT_BYTES *(USERS_MAX + 1) <= ROW_BYTES, "short arrays fit into a row");
_Static_assert(CPU_ARRAY_COUNT % 16 == 0 && CPU_SHORT_BYTES % 16 == 0 && CPU_LONG_BYTES % 16 == 0,
	       "cmpxchg16b works on 16 aligned bytes");

/* Of the lists of areas, and of the places in them. Not held over system calls. */
static CPU_EARLY struct cpu_lock areas_lock;
CPU_EARLY unsigned cpu_area_count;
static CPU_EARLY char *none_row0;

static long rows_before(void)
{
	return cpu_space_is_short() ? 1 : CPU_AREA_ROWS_BEFORE;
}

static size_t area_bytes(void)
{
	cpu_learn_rows();
	return (size_t)(rows_before() + (long)cpu_rows) << CPU_ROW_SHIFT;
}

static char *area_map(int protection)
{
	const size_t bytes = area_bytes();
	int saved = errno;
	char *area =
		mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (area == MAP_FAILED) {
		errno = ENOMEM;
		return NULL;
	}
	/* A huge page would be memory of many CPUs. What is only read takes none. */
	if (protection & PROT_WRITE)
		madvise(area, bytes, MADV_NOHUGEPAGE);
	errno = saved;
	return area + (rows_before() << CPU_ROW_SHIFT);
}

static char *arrays_at(const struct area *area, unsigned i)
{
	const struct kind *kind = &kinds[area->is_long];

	return area->row0 + kind->start + i * kind->bytes + CPU_ARRAY_COUNT;
}

/* Tools read `stamp` and `streak` of CPU -1. */
static void arrays_init(struct area *area, char *arrays)
{
	struct cpu_array *before = cpu_array(arrays, -1);

	before->stamp = (uintptr_t)area->row0;
	before->streak = (uint64_t)rows_before();
	before->spare = (uintptr_t)area;
}

static struct area *area_of(const char *arrays)
{
	return (struct area *)(uintptr_t)cpu_array(arrays, -1)->spare;
}

bool cpu_areas_have(const char *start, size_t bytes)
{
	const size_t before = (size_t)rows_before() << CPU_ROW_SHIFT;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (const struct area *area = __atomic_load_n(&kinds[i].first, __ATOMIC_ACQUIRE);
		     area; area = __atomic_load_n(&area->next, __ATOMIC_ACQUIRE)) {
			const uintptr_t into = (uintptr_t)start - (uintptr_t)(area->row0 - before);

			if (into < area_bytes() && bytes <= area_bytes() - into)
				return true;
		}
	return false;
}

bool cpu_arrays_are_long(const char *arrays)
{
	return area_of(arrays)->is_long;
}

static const struct kind *kind_of(const char *arrays)
{
	return &kinds[cpu_arrays_are_long(arrays)];
}

/* Take a free place in an area. USERS_MAX: the area is full. */
static unsigned take_place(struct area *area)
{
	for (unsigned i = 0; i < kinds[area->is_long].users; i++) {
		uint64_t *word = &area->used[i / 64];

		if (*word == UINT64_MAX) {
			i |= 63;
		} else if (!(*word >> i % 64 & 1)) {
			__atomic_store_n(word, *word | UINT64_C(1) << i % 64, __ATOMIC_RELEASE);
			return i;
		}
	}
	return USERS_MAX;
}

/* With the lock. */
static char *take_arrays(struct kind *kind, struct area **ret_area)
{
	for (struct area *area = kind->roomy ? kind->roomy : kind->first; area; area = area->next) {
		const unsigned i = take_place(area);

		if (i == USERS_MAX)
			continue;
		kind->roomy = *ret_area = area;
		return arrays_at(area, i);
	}
	return NULL;
}

/* With the lock. */
static void append(struct kind *kind, struct area *area)
{
	area->number = cpu_area_count;
	__atomic_store_n(kind->last ? &kind->last->next : &kind->first, area, __ATOMIC_RELEASE);
	kind->last = area;
	__atomic_store_n(&cpu_area_count, area->number + 1, __ATOMIC_RELEASE);
}

/* Map an area and make it the last one. false: ENOMEM. */
static bool add_area(struct kind *kind)
{
	const bool may = __atomic_load_n(&cpu_area_count, __ATOMIC_RELAXED) < AREAS_MAX;
	char *row0 = may ? area_map(PROT_READ | PROT_WRITE) : NULL;
	struct area *area;

	if (!row0) {
		errno = ENOMEM;
		return false;
	}
	area = (struct area *)(row0 - ROW_BYTES);
	area->row0 = row0;
	area->is_long = kind == &kinds[true];
	cpu_lock_take(&areas_lock);
	append(kind, area);
	cpu_lock_drop(&areas_lock);
	return true;
}

char *cpu_arrays_create(bool is_long)
{
	struct kind *kind = &kinds[is_long];
	struct area *area;
	char *arrays;

	do {
		cpu_lock_take(&areas_lock);
		arrays = take_arrays(kind, &area);
		cpu_lock_drop(&areas_lock);
	} while (!arrays && add_area(kind));
	if (arrays)
		arrays_init(area, arrays);
	return arrays;
}

/* Where space is short, they are those of a user in an area: a mapping of their own would have as
 * many addresses. */
char *cpu_arrays_none(void)
{
	char *none = __atomic_load_n(&none_row0, __ATOMIC_ACQUIRE);

	if (none)
		return none;
	if (cpu_space_is_short())
		none = cpu_arrays_create(false);
	else if ((none = area_map(PROT_READ)))
		none += CPU_ARRAY_COUNT;
	__atomic_store_n(&none_row0, none, __ATOMIC_RELEASE);
	return none;
}

static unsigned place_of(const struct area *area, const char *arrays)
{
	const struct kind *kind = &kinds[area->is_long];

	return (unsigned)((size_t)(arrays - area->row0 - kind->start) / kind->bytes);
}

static void set_used(struct area *area, unsigned word, uint64_t used)
{
	__atomic_store_n(&area->used[word], used, __ATOMIC_RELEASE);
}

/* With the lock: if an area has no other user, take all its places. */
static bool take_all(struct area *area, unsigned i)
{
	for (unsigned word = 0; word < USED_WORDS; word++)
		if (area->used[word] != (word == i / 64 ? UINT64_C(1) << i % 64 : 0))
			return false;
	for (unsigned word = 0; word < USED_WORDS; word++)
		set_used(area, word, UINT64_MAX);
	return true;
}

static void free_places(struct area *area, unsigned i, bool all)
{
	struct kind *kind = &kinds[area->is_long];

	cpu_lock_take(&areas_lock);
	if (all)
		for (unsigned word = 0; word < USED_WORDS; word++)
			set_used(area, word, 0);
	else
		set_used(area, i / 64, area->used[i / 64] & ~(UINT64_C(1) << i % 64));
	if (area->number < kind->roomy->number)
		kind->roomy = area;
	cpu_lock_drop(&areas_lock);
}

/* Zero the memory by returning it. false: it is locked (mlock(2)). */
static bool discard(char *start, size_t bytes)
{
	const int saved = errno;
	const bool done = madvise(start, bytes, MADV_DONTNEED) == 0;

	errno = saved;
	return done;
}

/* Only read the head of an array that no thread touched: a write would populate it. What lies
 * behind the head is of no importance, but for the tags of pairs, which the next user's first
 * transactions would repeat. */
static void zero_row(char *arrays, long cpu)
{
	static const char zero[CPU_CACHELINE];
	char *at = (char *)cpu_array(arrays, cpu);
	const size_t bytes = kind_of(arrays)->bytes;

	if (memcmp(at, zero, CPU_ARRAY_HEAD) == 0)
		return;
	for (size_t done = 0; done < bytes; done += sizeof(zero))
		if (memcmp(at + done, zero, sizeof(zero)) != 0)
			memset(at + done, 0, sizeof(zero));
}

/* For the last user of an area, one system call is faster than looking at each row. */
void cpu_arrays_destroy(char *arrays)
{
	struct area *area = area_of(arrays);
	const unsigned i = place_of(area, arrays);
	bool all;

	cpu_lock_take(&areas_lock);
	all = take_all(area, i);
	cpu_lock_drop(&areas_lock);
	if (!all || !discard(area->row0, (size_t)cpu_rows << CPU_ROW_SHIFT))
		for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
			zero_row(arrays, cpu);
	free_places(area, i, all);
}

void cpu_arrays_destroy_row(char *arrays, int cpu)
{
	struct area *area = area_of(arrays);

	zero_row(arrays, cpu);
	free_places(area, place_of(area, arrays), false);
}

/* The head stays, because transaction ids of the engine cmpxchg16b must not repeat. Threads that
 * are late may write entries, which are not in use, and read them: zeros are as good as
 * anything. */
void cpu_array_discard(char *arrays, int cpu)
{
	struct cpu_array *array = cpu_array(arrays, cpu);
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t start = ((uintptr_t)array->obj + page - 1) & -page;
	const uintptr_t end = ((uintptr_t)array + kind_of(arrays)->bytes) & -page;

	if (cpu_array_limit(array))
		cpu_array_set_limit(array, 0);
	if (start < end)
		discard((char *)start, end - start);
}

static void each_of_area(const struct area *area, void (*fn)(struct cpu_array *))
{
	const struct kind *kind = &kinds[area->is_long];

	for (unsigned i = 0; i < kind->users; i++) {
		const uint64_t used = __atomic_load_n(&area->used[i / 64], __ATOMIC_ACQUIRE);
		const char *arrays = arrays_at(area, i);

		for (unsigned cpu = 0; used >> i % 64 & 1 && cpu < cpu_possible(); cpu++)
			fn(cpu_array(arrays, cpu));
	}
}

void cpu_arrays_each(void (*fn)(struct cpu_array *))
{
	for (const struct kind *kind = kinds; kind < kinds + 2; kind++)
		for (const struct area *area = __atomic_load_n(&kind->first, __ATOMIC_ACQUIRE);
		     area; area = __atomic_load_n(&area->next, __ATOMIC_ACQUIRE))
			each_of_area(area, fn);
}

void cpu_areas_lock(void)
{
	cpu_lock_take(&areas_lock);
}

void cpu_areas_unlock(void)
{
	cpu_lock_drop(&areas_lock);
}
