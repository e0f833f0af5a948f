/* SPDX-License-Identifier: MIT */
/*
 * Areas: the memory of arrays. An area has the arrays of some users by all possible CPUs, laid out
 * [cpu][user], in one mapping that is populated lazily. There are areas of short and of long arrays.
 *
 * The fast path indexes with the CPU's id and does not check it, so there is a row for every id
 * that the kernel can return. The size of the kernel's own CPU masks gives that number. The
 * masks are rounded up, so walks over CPUs end earlier, at the number in /sys, which the first
 * walk reads: many processes end before. /sys may be
 * missing (chroot), or a container may invent it. A thread on a CPU beyond that number proves it
 * wrong, and from then on walks visit every row. It does so in a slow path, and without one it uses
 * no array of such a row: all of them are empty and have the limit 0.
 *
 * Two more rows lie before CPU 0. A thread without restartable sequences reads -1 or -2 as its
 * CPU, and the fast path indexes with that. Count and limit are 0 in these rows and never change.
 * Only the kernel says -2, so where there is no rseq engine because space is short, there is no row
 * for it.
 */
#include "engine.h"
#include "sys_file.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Enough short ones for 491,520 users, the limit of slab_cache_create(), and long ones for all of
 * them. */
#define AREAS_MAX 32768u
#define ROW_BYTES ((size_t)1 << CPU_ROW_SHIFT)
#define USERS_MAX 511u /* of an area */
#define USED_WORDS ((USERS_MAX + 63) / 64)

/* With less address space (RLIMIT_AS) or writable memory (RLIMIT_DATA) there are no rows for CPUs
 * that do not exist. */
#define SPACE_SHORT ((rlim_t)1 << 30)

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

CPU_EARLY unsigned cpu_possible_count;
static CPU_EARLY bool
	possible_is_known; /* cpu_possible_count is not only that of the first thread's mask */
static CPU_EARLY unsigned rows;
static CPU_EARLY bool rows_cover_all;
static CPU_EARLY bool space_is_short;

/* The number of CPUs in /sys: the last number of the list + 1. "0-3,8" has CPU 8 as the highest.
 * 0: unknown. */
static unsigned read_sys(void)
{
	char text[256];
	unsigned count = 0;

	sys_file_read("/sys/devices/system/cpu/possible", text, sizeof(text));
	for (char *p = text; *p; p++)
		if ((*p >= '0' && *p <= '9') && (p == text || p[-1] < '0' || p[-1] > '9'))
			count = (unsigned)strtoul(p, NULL, 10) + 1;
	return count;
}

static unsigned highest(const unsigned long *mask, unsigned words)
{
	unsigned bits = (unsigned)(8 * sizeof(*mask));

	while (words--)
		if (mask[words])
			return (words + 1) * bits - 1 - (unsigned)__builtin_clzl(mask[words]);
	return 0;
}

static void set_possible(unsigned count)
{
	__atomic_store_n(&cpu_possible_count, count, __ATOMIC_RELAXED);
	__atomic_store_n(&possible_is_known, true, __ATOMIC_RELEASE);
}

static bool is_low(int resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) == 0 && limit.rlim_cur < SPACE_SHORT;
}

bool cpu_space_is_short(void)
{
	return space_is_short;
}

/* Rows of CPUs that do not exist take address space, 32 MiB for each area where the mask has 256
 * bits. A process with little of that gets the rows of /sys, and so an engine that checks the CPU's
 * id. */
/* The system call, because unlike its wrapper it returns the size of the kernel's mask. A system
 * call filter may forbid it; then the number of rows is that of /sys. */
void cpu_learn_rows(void)
{
	unsigned long mask[CPU_MASK_WORDS];
	unsigned said;
	long bytes;

	if (rows)
		return;
	space_is_short = is_low(RLIMIT_AS) || is_low(RLIMIT_DATA);
	bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	if (bytes > 0 && !space_is_short) {
		cpu_possible_count = highest(mask, (unsigned)bytes / sizeof(*mask)) + 1;
		rows_cover_all = true;
		rows = (unsigned)bytes * 8;
		return;
	}
	said = read_sys();
	rows = said ? said : 1;
	set_possible(rows);
}

/*
 * Returns the number of CPUs. One thread reads the file; meanwhile the number of rows serves the
 * others. Another thread may prove the number wrong. A number that excludes CPUs of the mask is
 * wrong.
 */
static unsigned learn_possible(void)
{
	static CPU_EARLY bool is_read;
	unsigned said, least;

	cpu_learn_rows();
	least = __atomic_load_n(&cpu_possible_count, __ATOMIC_RELAXED);
	if (__atomic_load_n(&possible_is_known, __ATOMIC_ACQUIRE))
		return __atomic_load_n(&cpu_possible_count, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&is_read, true, __ATOMIC_RELAXED))
		return rows;
	said = read_sys();
	if (said > rows || said < least)
		said = rows;
	__atomic_compare_exchange_n(&cpu_possible_count, &least, said, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	__atomic_store_n(&possible_is_known, true, __ATOMIC_RELEASE);
	return __atomic_load_n(&cpu_possible_count, __ATOMIC_RELAXED);
}

unsigned cpu_possible(void)
{
	if (!__atomic_load_n(&possible_is_known, __ATOMIC_ACQUIRE))
		return learn_possible();
	return __atomic_load_n(&cpu_possible_count, __ATOMIC_RELAXED);
}

void cpu_possible_is_wrong(void)
{
	set_possible(rows);
}

bool cpu_rows_cover(int cpu)
{
	return rows_cover_all && cpu < (int)rows;
}

/* The CPU of a thread that is not registered. */
int cpu_by_kernel(void)
{
	const int cpu = sched_getcpu();

	if (cpu < 0)
		return 0;
	if (cpu < (int)__atomic_load_n(&cpu_possible_count, __ATOMIC_RELAXED))
		return cpu;
	return (unsigned)cpu < cpu_possible() ? cpu : 0;
}

#ifdef SLAB_TESTING
void cpu_set_possible(unsigned n)
{
	cpu_learn_rows();
	rows = n > rows ? n : rows;
	set_possible(n);
}
#endif

static long rows_before(void)
{
	return space_is_short ? 1 : CPU_AREA_ROWS_BEFORE;
}

static size_t area_bytes(void)
{
	cpu_learn_rows();
	return (size_t)(rows_before() + (long)rows) << CPU_ROW_SHIFT;
}

static char *area_map(int protection)
{
	const size_t bytes = area_bytes();
	char *area =
		mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (area == MAP_FAILED) {
		errno = ENOMEM;
		return NULL;
	}
	/* A huge page would be memory of many CPUs. What is only read takes none. */
	if (protection & PROT_WRITE)
		madvise(area, bytes, MADV_NOHUGEPAGE);
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

/* Where space is short, they are those of a user in an area: a mapping of their own would have as many
 * addresses. */
char *cpu_arrays_none(void)
{
	char *none = __atomic_load_n(&none_row0, __ATOMIC_ACQUIRE);

	if (none)
		return none;
	if (space_is_short)
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

/* Only read the head of an array that no thread touched: a write would populate it. What lies behind
 * the head is of no importance, but for the tags of pairs, which the next user's first transactions
 * would repeat. */
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
	if (!all || !discard(area->row0, (size_t)rows << CPU_ROW_SHIFT))
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

/* The head stays, because transaction ids of the engine cmpxchg16b must not repeat. Threads that are
 * late may write entries, which are not in use, and read them: zeros are as good as anything. */
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
	cpu_lock_take(&areas_lock);
	if (cpu_engine->locks)
		cpu_arrays_each(lock_array);
}

void cpu_arrays_unlock_all(void)
{
	if (cpu_engine->locks)
		cpu_arrays_each(unlock_array);
	cpu_lock_drop(&areas_lock);
}
