/* SPDX-License-Identifier: MIT */
/*
 * Areas: the memory of slots and LIFOs. An area has CPU_AREA_SLOTS users by all possible CPUs,
 * laid out [cpu][user], in one mapping that is populated lazily.
 *
 * The fast path indexes with the CPU's id and does not check it, so there is a row for every id
 * that the kernel can return. The size of the kernel's own CPU masks gives that number. The
 * masks are rounded up, so walks over CPUs end earlier, at the number in /sys, which the first
 * walk reads: many processes end before. /sys may be
 * missing (chroot), or a container may invent it. A thread on a CPU beyond that number proves it
 * wrong, and from then on walks visit every row. It does so in a slow path, and without one it uses
 * no slot and no LIFO of such a row: all of them are closed or empty.
 *
 * Two more rows lie before CPU 0. A thread without restartable sequences reads -1 or -2 as its
 * CPU, and the fast path indexes with that. These rows never change. They have no current slab and
 * are closed, and their LIFOs have the limit 0. Only the kernel says -2, so where there is no rseq
 * engine because space is short, there is no row for it.
 */
#include "cpu_cache.h"
#include "sys_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Enough for 491,520 users, the limit of slab_cache_create(). */
#define AREAS_MAX 16384u
/* The LIFOs lie at the end of a row. */
#define LIFOS_OFFSET ((1L << CPU_AREA_SHIFT) - (long)(CPU_AREA_SLOTS * sizeof(struct cpu_lifo)))

_Static_assert(LIFOS_OFFSET % CPU_CACHELINE == 0, "LIFOs are aligned to cache lines");

/* With less address space (RLIMIT_AS) or writable memory (RLIMIT_DATA) there are no rows for CPUs
 * that do not exist. */
#define SPACE_SHORT ((rlim_t)1 << 30)

/* Event words of the row of CPU -1, which counts no events. */
enum { ROW_AREA, ROW_LIFOS, ROW_START = CPU_ROW_START, ROW_BEFORE };

/* Lies in the row of CPU -1 of its area, behind its slots. */
struct area {
	char *row0;
	struct area *next; /* newer */
	unsigned number;
	uint64_t used[(CPU_AREA_SLOTS + 63) / 64];
};

#define AREA_OFFSET ((long)(CPU_AREA_SLOTS * sizeof(struct cpu_slot)))
/* Behind that, in every row, where space is short: a slot that is always empty. */
#define NONE_OFFSET (AREA_OFFSET + CPU_CACHELINE)

_Static_assert(sizeof(struct area) <= CPU_CACHELINE, "an area has this room");
_Static_assert(NONE_OFFSET + (long)sizeof(struct cpu_slot) <= LIFOS_OFFSET,
	       "slots end before LIFOs");

CPU_EARLY unsigned cpu_area_count;
static CPU_EARLY struct area *first, *last;
static CPU_EARLY struct area *roomy; /* all areas before this one are full */
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
	return (size_t)(rows_before() + (long)rows) << CPU_AREA_SHIFT;
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
	return area + (rows_before() << CPU_AREA_SHIFT);
}

static char *slots_init(struct area *area, unsigned i)
{
	char *slots = area->row0 + i * sizeof(struct cpu_slot);

	for (long row = -rows_before(); row < 0; row++)
		cpu_slot(slots, row)->closed = 1;
	cpu_slot(slots, -1)->event[ROW_AREA] = (uintptr_t)area;
	cpu_slot(slots, -1)->event[ROW_LIFOS] =
		(uintptr_t)(area->row0 + LIFOS_OFFSET + i * sizeof(struct cpu_lifo));
	cpu_slot(slots, -1)->event[ROW_START] = (uintptr_t)area->row0;
	cpu_slot(slots, -1)->event[ROW_BEFORE] = (uint64_t)rows_before();
	return slots;
}

char *cpu_slots_lifos(char *slots)
{
	return (char *)(uintptr_t)cpu_slot(slots, -1)->event[ROW_LIFOS];
}

/* Take a free place in an area. CPU_AREA_SLOTS: the area is full. */
static unsigned take_place(struct area *area)
{
	for (unsigned i = 0; i < CPU_AREA_SLOTS; i++) {
		if (area->used[i / 64] == UINT64_MAX) {
			i |= 63;
		} else if (!(area->used[i / 64] >> i % 64 & 1)) {
			area->used[i / 64] |= UINT64_C(1) << i % 64;
			return i;
		}
	}
	return CPU_AREA_SLOTS;
}

/* Map an area and make it the last one; NULL and ENOMEM. */
static struct area *add_area(void)
{
	char *row0 = cpu_area_count < AREAS_MAX ? area_map(PROT_READ | PROT_WRITE) : NULL;
	struct area *area;

	if (!row0) {
		errno = ENOMEM;
		return NULL;
	}
	area = (struct area *)(row0 - (1L << CPU_AREA_SHIFT) + AREA_OFFSET);
	area->row0 = row0;
	area->number = cpu_area_count;
	__atomic_store_n(last ? &last->next : &first, area, __ATOMIC_RELEASE);
	last = area;
	__atomic_store_n(&cpu_area_count, area->number + 1, __ATOMIC_RELEASE);
	return area;
}

/* Where space is short, they lie in an area: a mapping of their own would have as many
 * addresses. */
char *cpu_slots_none(void)
{
	if (!none_row0 && !space_is_short)
		none_row0 = area_map(PROT_READ);
	else if (!none_row0 && (first || add_area()))
		none_row0 = first->row0 + NONE_OFFSET;
	return none_row0;
}

char *cpu_slots_create(void)
{
	for (struct area *area = roomy ? roomy : first; area || (area = add_area());
	     area = area->next) {
		unsigned i = take_place(area);

		if (i == CPU_AREA_SLOTS)
			continue;
		roomy = area;
		return slots_init(area, i);
	}
	return NULL;
}

void cpu_slots_touch(const char *slots)
{
	char *lifos = cpu_slots_lifos((char *)slots);

	for (unsigned cpu = 0; cpu < rows; cpu++) {
		const struct cpu_slot *slot = cpu_slot((char *)slots, cpu);

		/* A slot may lie on two pages. */
		__atomic_load_n(&slot->closed, __ATOMIC_RELAXED);
		__atomic_load_n(&slot->event[CPU_EVENTS - 1], __ATOMIC_RELAXED);
		__atomic_load_n(&cpu_lifo(lifos, cpu)->count, __ATOMIC_RELAXED);
	}
}

static bool is_only_user(const struct area *area, size_t i)
{
	for (size_t word = 0; word < sizeof(area->used) / sizeof(area->used[0]); word++)
		if (area->used[word] != (word == i / 64 ? UINT64_C(1) << i % 64 : 0))
			return false;
	return true;
}

/* Zero the rows of all CPUs by returning their memory. false: the memory is locked (mlock(2)). */
static bool discard_rows(const struct area *area)
{
	const int saved = errno;
	const bool done = madvise(area->row0, (size_t)rows << CPU_AREA_SHIFT, MADV_DONTNEED) == 0;

	errno = saved;
	return done;
}

/* Only read a row that no thread touched: a write would populate it. */
static void zero_row(char *slots, char *lifos, long cpu)
{
	static const struct cpu_slot empty;
	struct cpu_slot *slot = cpu_slot(slots, cpu);
	struct cpu_lifo *lifo = cpu_lifo(lifos, cpu);

	if (memcmp(slot, &empty, sizeof(empty)) != 0)
		memset(slot, 0, sizeof(*slot));
	if (lifo->count || lifo->limit)
		lifo->count = lifo->limit = 0;
}

static void zero_rows(char *slots)
{
	char *lifos = cpu_slots_lifos(slots);

	for (unsigned cpu = 0; cpu < rows; cpu++)
		zero_row(slots, lifos, cpu);
}

static struct area *area_of(const char *slots, size_t *ret_i)
{
	struct area *area = (struct area *)(uintptr_t)cpu_slot((char *)slots, -1)->event[ROW_AREA];

	*ret_i = (size_t)(slots - area->row0) / sizeof(struct cpu_slot);
	return area;
}

static void free_place(struct area *area, size_t i)
{
	area->used[i / 64] &= ~(UINT64_C(1) << i % 64);
	if (area->number < roomy->number)
		roomy = area;
}

/* The rows are many. For the last user of an area, one system call is faster than a page fault for
 * each row. */
void cpu_slots_destroy(char *slots)
{
	size_t i;
	struct area *area = area_of(slots, &i);

	if (!is_only_user(area, i) || !discard_rows(area))
		zero_rows(slots);
	free_place(area, i);
}

void cpu_slots_destroy_row(char *slots, int cpu)
{
	size_t i;
	struct area *area = area_of(slots, &i);

	zero_row(slots, cpu_slots_lifos(slots), cpu);
	free_place(area, i);
}

void cpu_slots_each(void (*fn)(struct cpu_slot *))
{
	const struct area *area = __atomic_load_n(&first, __ATOMIC_ACQUIRE);

	for (; area; area = __atomic_load_n(&area->next, __ATOMIC_ACQUIRE))
		for (unsigned i = 0; i < CPU_AREA_SLOTS; i++) {
			uint64_t used = __atomic_load_n(&area->used[i / 64], __ATOMIC_RELAXED);

			if (!(used >> i % 64 & 1))
				continue;
			for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
				fn(cpu_slot(area->row0 + i * sizeof(struct cpu_slot), cpu));
		}
}
