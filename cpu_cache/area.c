/* SPDX-License-Identifier: MIT */
/*
 * Areas of slots: CPU_AREA_SLOTS users by all possible CPUs, laid out
 * [cpu][user], in one lazily filled mapping.
 *
 * Two more rows stand before CPU 0: what threads without restartable sequences
 * read as their CPU is -1 or -2, and the fast path indexes with it unchecked.
 * These rows never change: no current slab, and no place for a hot object.
 */
#include "cpu_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "locked.h"

#define ROWS_BEFORE ((long)CPU_AREA_ROWS_BEFORE)
#define AREAS_MAX 64

static struct area {
	char *row0;
	uint64_t used[(CPU_AREA_SLOTS + 63) / 64];
} areas[AREAS_MAX];
unsigned cpu_area_count;
static char *none_row0;

/* "0-3,8" says that CPU 8 is the highest: the last number of the list. */
static unsigned read_possible(void)
{
	char text[256];
	int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	long configured = sysconf(_SC_NPROCESSORS_CONF);
	unsigned count = 1;

	if (fd >= 0)
		close(fd);
	if (n > 0) {
		text[n] = '\0';
		for (char *p = text; *p; p++)
			if ((*p >= '0' && *p <= '9') && (p == text || p[-1] < '0' || p[-1] > '9'))
				count = (unsigned)strtoul(p, NULL, 10) + 1;
	}
	return configured > (long)count ? (unsigned)configured : count;
}

static unsigned possible;

unsigned cpu_possible(void)
{
	unsigned n = __atomic_load_n(&possible, __ATOMIC_RELAXED);

	if (!n) {
		n = read_possible();
		__atomic_store_n(&possible, n, __ATOMIC_RELAXED);
	}
	return n;
}

#ifdef SLAB_TESTING
void cpu_set_possible(unsigned n)
{
	__atomic_store_n(&possible, n, __ATOMIC_RELAXED);
}
#endif

static size_t area_bytes(void)
{
	return cpu_area_bytes(1, cpu_possible());
}

static char *area_map(int protection)
{
	char *area = mmap(NULL, area_bytes(), protection,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (area == MAP_FAILED) {
		errno = ENOMEM;
		return NULL;
	}
	madvise(area, area_bytes(), MADV_NOHUGEPAGE);
	return area + (ROWS_BEFORE << CPU_AREA_SHIFT);
}

char *cpu_slots_none(void)
{
	if (!none_row0)
		none_row0 = area_map(PROT_READ);
	return none_row0;
}

static char *slots_init(char *slots)
{
	for (long row = -ROWS_BEFORE; row < 0; row++)
		cpu_slot(slots, row)->hot = 1;
	return slots;
}

char *cpu_slots_create(void)
{
	for (unsigned a = 0; a < AREAS_MAX; a++) {
		struct area *area = &areas[a];

		if (!area->row0) {
			area->row0 = area_map(PROT_READ | PROT_WRITE);
			if (!area->row0)
				return NULL;
			__atomic_store_n(&cpu_area_count, a + 1, __ATOMIC_RELEASE);
		}
		for (unsigned i = 0; i < CPU_AREA_SLOTS; i++)
			if (!(area->used[i / 64] >> i % 64 & 1)) {
				area->used[i / 64] |= UINT64_C(1) << i % 64;
				return slots_init(area->row0 + i * sizeof(struct cpu_slot));
			}
	}
	errno = ENOMEM;
	return NULL;
}

void cpu_slots_destroy(char *slots)
{
	for (unsigned a = 0; a < cpu_area_count; a++) {
		size_t i = (size_t)(slots - areas[a].row0) / sizeof(struct cpu_slot);

		if (slots < areas[a].row0 || i >= CPU_AREA_SLOTS)
			continue;
		/* Rows that nobody touched are not touched now either. */
		for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
			static const struct cpu_slot empty;
			struct cpu_slot *slot = cpu_slot(slots, cpu);

			if (memcmp(slot, &empty, sizeof(empty)) != 0)
				memset(slot, 0, sizeof(*slot));
		}
		areas[a].used[i / 64] &= ~(UINT64_C(1) << i % 64);
	}
}

static void for_each_slot(void (*fn)(struct cpu_slot *))
{
	unsigned count = __atomic_load_n(&cpu_area_count, __ATOMIC_ACQUIRE);

	for (unsigned a = 0; a < count; a++)
		for (unsigned i = 0; i < CPU_AREA_SLOTS; i++) {
			uint64_t used = __atomic_load_n(&areas[a].used[i / 64], __ATOMIC_RELAXED);

			if (!(used >> i % 64 & 1))
				continue;
			for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
				fn(cpu_slot(areas[a].row0 + i * sizeof(struct cpu_slot), cpu));
		}
}

void cpu_slots_lock_all(void)
{
	if (cpu_engine != &cpu_engine_rseq)
		for_each_slot(cpu_slot_lock);
}

void cpu_slots_unlock_all(void)
{
	if (cpu_engine != &cpu_engine_rseq)
		for_each_slot(cpu_slot_unlock);
}
