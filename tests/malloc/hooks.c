/* SPDX-License-Identifier: MIT */
/* A library whose fork handlers allocate. Its constructor registers them as early as it can. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 40

/* Threads that fork at the same time run their handlers at the same time. */
static _Thread_local void *block[BLOCKS];
unsigned hooks_prepared;

/* From caches that the process may not have yet, from slabs, and from mappings. */
static void allocate(void)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		size_t size = (size_t)24 << (i % 16);

		free(block[i]);
		block[i] = i % 3 ? malloc(size) : calloc(1, size);
		if (!block[i])
			abort();
		memset(block[i], 1, size < 4096 ? size : 4096);
	}
}

static void prepare(void)
{
	__atomic_fetch_add(&hooks_prepared, 1, __ATOMIC_RELAXED);
	allocate();
}

__attribute__((constructor)) static void register_hooks(void)
{
	pthread_atfork(prepare, allocate, allocate);
}
