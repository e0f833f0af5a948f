/* SPDX-License-Identifier: MIT */
/*
 * A million blocks of 240 and of 712 bytes, zeroed, allocated and freed: the first argument
 * for splitting the pblock. In pairs, each block is freed before the next allocation; in the
 * other order, all blocks are allocated and then freed, and page faults count.
 *
 * Each allocator and order runs in a process of its own, forked before anything else was
 * allocated, so that its first round cannot reuse memory that another one freed.
 *
 * The program writes some words of each block, as for a pblock. Constructed blocks must be
 * zero when they are freed, so the program clears the words that it wrote.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slab/slab.h>

#include "life.h"

#define BLOCKS 1000000u
#define WORDS_USED 4

static const unsigned sizes[] = {240, 712};
static const char *const allocators[BLOCK_ALLOCATORS] = {"calloc", "slab_zalloc", "constructed"};
static struct slab_cache *plain[2], *constructed[2];
static void **blocks;

static inline void use(void *block, uintptr_t value)
{
	volatile uintptr_t *words = block;

	for (int i = 0; i < WORDS_USED; i++)
		words[i] = value;
}

static inline __attribute__((always_inline)) void *take(unsigned allocator, unsigned i)
{
	void *block;

	if (allocator == 0)
		block = calloc(1, sizes[i]);
	else if (allocator == 1)
		block = slab_zalloc(plain[i]);
	else
		block = slab_alloc(constructed[i]);
	if (block)
		use(block, 1);
	return block;
}

static inline __attribute__((always_inline)) void give(unsigned allocator, unsigned i, void *block)
{
	if (allocator == 0) {
		free(block);
	} else if (allocator == 1) {
		slab_free(plain[i], block);
	} else {
		use(block, 0);
		slab_free(constructed[i], block);
	}
}

static inline __attribute__((always_inline)) int pairs(unsigned allocator, unsigned i)
{
	for (unsigned n = 0; n < BLOCKS; n++) {
		void *block = take(allocator, i);

		if (!block)
			return -1;
		give(allocator, i, block);
	}
	return 0;
}

static inline __attribute__((always_inline)) int all(unsigned allocator, unsigned i)
{
	unsigned n = 0;

	while (n < BLOCKS && (blocks[n] = take(allocator, i)))
		n++;
	for (unsigned k = 0; k < n; k++)
		give(allocator, i, blocks[k]);
	return n == BLOCKS ? 0 : -1;
}

static int run(bool is_all, unsigned allocator, unsigned i)
{
	switch (allocator) {
	case 0:
		return is_all ? all(0, i) : pairs(0, i);
	case 1:
		return is_all ? all(1, i) : pairs(1, i);
	default:
		return is_all ? all(2, i) : pairs(2, i);
	}
}

static int construct(void *block, void *arg)
{
	memset(block, 0, *(const unsigned *)arg);
	return 0;
}

static int prepare(void)
{
	char name[32];

	for (unsigned i = 0; i < 2; i++) {
		struct slab_cache_args args = {.ctor = construct, .arg = (void *)&sizes[i]};

		snprintf(name, sizeof(name), "block-%u", sizes[i]);
		plain[i] = slab_cache_create(name, sizes[i], NULL, 0);
		snprintf(name, sizeof(name), "block-%u-constructed", sizes[i]);
		constructed[i] = slab_cache_create(name, sizes[i], &args, 0);
		if (!plain[i] || !constructed[i])
			return -1;
	}
	/* Its own page faults happen before the measurement. */
	blocks = mmap(NULL, BLOCKS * sizeof(*blocks), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	return blocks == MAP_FAILED ? -1 : 0;
}

static double cpu_ms(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1e3 +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e3;
}

static int measure_one(unsigned round, bool is_all, unsigned allocator, unsigned i,
		       struct block_result *result)
{
	struct rusage before, after;

	result->allocator = allocators[allocator];
	result->order = is_all ? "all" : "pairs";
	result->size = sizes[i];
	getrusage(RUSAGE_SELF, &before);
	if (run(is_all, allocator, i))
		return -1;
	getrusage(RUSAGE_SELF, &after);
	result->ms[round] = cpu_ms(&after) - cpu_ms(&before);
	result->faults[round] = (uint64_t)(after.ru_minflt - before.ru_minflt);
	return 0;
}

static bool measure_in_child(unsigned rounds, unsigned n, struct block_result *result)
{
	unsigned allocator = n % BLOCK_ALLOCATORS;
	unsigned i = n / BLOCK_ALLOCATORS % 2, is_all = n / BLOCK_ALLOCATORS / 2;

	if (prepare())
		return false;
	for (unsigned round = 0; round < rounds; round++)
		if (measure_one(round, is_all, allocator, i, result))
			return false;
	return true;
}

/* The child returns its result in shared memory. */
static int measure_in_process(unsigned rounds, unsigned n, struct block_result *shared)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(measure_in_child(rounds, n, shared) ? 0 : 1);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

int measure_blocks(unsigned rounds, struct block_result results[BLOCK_RESULTS])
{
	struct block_result *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int error = shared == MAP_FAILED ? -1 : 0;

	for (unsigned n = 0; !error && n < BLOCK_RESULTS; n++) {
		error = measure_in_process(rounds, n, shared);
		results[n] = *shared;
	}
	if (shared != MAP_FAILED)
		munmap(shared, sizeof(*shared));
	return error;
}
