/* SPDX-License-Identifier: MIT */
/*
 * DPDK's rte_mempool: every object made beforehand, a stack of pointers per
 * registered thread, all of it inlined. Not a general allocator but the floor:
 * what remains when memory never has to be found or given back.
 */
#pragma once

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_version.h>

#include "bench.h"

#define CONTESTANT_HAS_BULK true
#define CONTESTANT_HAS_MEMORY false
/* The EAL takes a tenth of a second to start. */
#define CONTESTANT_PROCESS_PER_SIZE true
#define CONTESTANT_HAS_HOOKS

#define CONTESTANT_THREAD_CACHE 512
/* A thread's stack may hold half as much again before it flushes. */
#define CONTESTANT_THREAD_HOLDS (CONTESTANT_THREAD_CACHE * 3 / 2)

static struct rte_mempool *contestant_pool;

static inline void *contestant_get(void)
{
	void *obj;

	return rte_mempool_get(contestant_pool, &obj) == 0 ? obj : NULL;
}

static inline size_t contestant_get_bulk(size_t n, void **objs)
{
	return rte_mempool_get_bulk(contestant_pool, objs, (unsigned)n) == 0 ? n : 0;
}

#define OBJ_ALLOC() contestant_get()
#define OBJ_FREE(obj) rte_mempool_put(contestant_pool, (obj))
#define OBJ_ALLOC_BULK(n, objs) contestant_get_bulk((n), (objs))
#define OBJ_FREE_BULK(n, objs) rte_mempool_put_bulk(contestant_pool, (objs), (unsigned)(n))

/* The largest case's objects, threads' caches, headers and room for loss at
 * the ends of chunks. It is address space until a pool uses it. */
static size_t contestant_megabytes(size_t size)
{
	size_t objects = (size_t)2 * BENCH_LIVE_OBJECTS * 21 / 20 +
			 (size_t)(64 + 4) * CONTESTANT_THREAD_HOLDS;

	return (objects * (size + 192) >> 20) * 5 / 4 + 64;
}

static int contestant_start_eal(size_t size, int cpu)
{
	static bool started;
	char program[] = "objects-dpdk", list[] = "-l", no_huge[] = "--no-huge";
	char no_pci[] = "--no-pci", no_telemetry[] = "--no-telemetry", no_files[] = "--no-shconf";
	char memory[] = "-m", level[] = "--log-level", critical[] = "critical";
	char cpu_text[16], megabytes[24];
	char *argv[] = {program,  list,   cpu_text,  no_huge, no_pci,   no_telemetry,
			no_files, memory, megabytes, level,   critical, NULL};

	if (started)
		return 0;
	snprintf(cpu_text, sizeof(cpu_text), "%d", cpu);
	snprintf(megabytes, sizeof(megabytes), "%zu", contestant_megabytes(size));
	started = rte_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv) >= 0;
	return started ? 0 : -1;
}

/* "All objects preallocated" includes their pages. */
static void contestant_touch(struct rte_mempool *pool, void *size, void *obj, unsigned index)
{
	(void)pool;
	(void)index;
	memset(obj, 0, *(size_t *)size);
}

static const char *contestant_open(size_t size, size_t live, unsigned threads, int cpu)
{
	size_t objects = live + (size_t)(threads + 1) * CONTESTANT_THREAD_HOLDS;
	static char why[128];

	if (contestant_start_eal(size, cpu) != 0) {
		snprintf(why, sizeof(why), "the EAL did not start (%s)", rte_strerror(rte_errno));
		return why;
	}
	bench_pin(cpu);
	contestant_pool = rte_mempool_create("bench", (unsigned)objects, (unsigned)size,
					     CONTESTANT_THREAD_CACHE, 0, NULL, NULL, NULL, NULL,
					     SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
	if (!contestant_pool) {
		snprintf(why, sizeof(why), "no pool of %zu objects of %zu bytes (%s)", objects,
			 size, rte_strerror(rte_errno));
		return why;
	}
	rte_mempool_obj_iter(contestant_pool, contestant_touch, &size);
	return NULL;
}

static void contestant_close(void)
{
	rte_mempool_free(contestant_pool);
}

static void contestant_thread_begin(void)
{
	if (rte_thread_register() != 0)
		bench_fail("rte_thread_register() failed: %s", rte_strerror(rte_errno));
}

static void contestant_thread_end(void)
{
	rte_thread_unregister();
}

static const char *contestant_allocator(void)
{
	return rte_version();
}
