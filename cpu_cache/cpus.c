/* SPDX-License-Identifier: MIT */
/*
 * The CPUs that threads may run on.
 *
 * The fast path indexes with the CPU's id and does not check it, so there is a row for every id
 * that the kernel can return. The size of the kernel's own CPU masks gives that number. The
 * masks are rounded up, so walks over CPUs end earlier, at the number in /sys, which the first
 * walk reads: many processes end before. /sys may be
 * missing (chroot), or a container may invent it. A thread on a CPU beyond that number proves it
 * wrong, and from then on walks visit every row. It does so in a slow path, and without one it uses
 * no array of such a row: all of them are empty and have the limit 0.
 */
#include "engine.h"
#include "sys_file.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* With less address space (RLIMIT_AS) or writable memory (RLIMIT_DATA) there are no rows for CPUs
 * that do not exist. */
#define SPACE_SHORT ((rlim_t)1 << 30)

CPU_EARLY unsigned cpu_possible_count;
static CPU_EARLY bool
	possible_is_known; /* cpu_possible_count is not only that of the first thread's mask */
CPU_EARLY unsigned cpu_rows;
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

	if (cpu_rows)
		return;
	space_is_short = is_low(RLIMIT_AS) || is_low(RLIMIT_DATA);
	bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	if (bytes > 0 && !space_is_short) {
		cpu_possible_count = highest(mask, (unsigned)bytes / sizeof(*mask)) + 1;
		rows_cover_all = true;
		cpu_rows = (unsigned)bytes * 8;
		return;
	}
	said = read_sys();
	cpu_rows = said ? said : 1;
	set_possible(cpu_rows);
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
		return cpu_rows;
	said = read_sys();
	if (said > cpu_rows || said < least)
		said = cpu_rows;
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
	set_possible(cpu_rows);
}

bool cpu_rows_cover(int cpu)
{
	return rows_cover_all && cpu < (int)cpu_rows;
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
	cpu_rows = n > cpu_rows ? n : cpu_rows;
	set_possible(n);
}
#endif
