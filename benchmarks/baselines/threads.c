/* SPDX-License-Identifier: MIT */
/*
 * Experiment 2 of 389-ds's "Memory Usage Research": a pool for each thread, below malloc itself.
 *
 * Blocks of up to 1 KiB are the C library's. Larger ones, to 64 MiB, have sizes of powers of two; a
 * free puts them on a list of the thread that frees them, whichever allocated them. Beyond 64 MiB
 * they are mapped. BASELINE_MAXFREELIST, if it is positive, limits the length of each list; the
 * server called it nsslapd-mempool-maxfreelist.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "block.h"

#define SMALL ((size_t)1 << 10)
#define LARGE ((size_t)64 << 20)

struct list {
	void *first; /* linked through the blocks */
	unsigned long count;
};

static __thread struct list lists[64] __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static bool key_is_there;
static unsigned long max_free_list;

bool pool_serves(size_t size)
{
	return size > SMALL;
}

size_t pool_capacity(size_t size)
{
	return size <= SMALL || size > LARGE ? size : (size_t)1 << power_of(size);
}

static void *map(size_t size)
{
	char *start = size > (size_t)-1 / 2 ? MAP_FAILED
					    : mmap(NULL, size + HEADER, PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (start == MAP_FAILED)
		return NULL;
	*(struct header *)start = (struct header){size, HEADER};
	return start + HEADER;
}

void *pool_alloc(size_t size)
{
	struct list *list = &lists[power_of(size)];
	void *ptr = list->first;

	if (size <= SMALL)
		return block_new(size, size);
	if (size > LARGE)
		return map(size);
	if (!ptr)
		return block_new(size, pool_capacity(size));
	list->first = *(void **)ptr;
	list->count--;
	header_of(ptr)->size = size;
	return ptr;
}

void pool_free(void *ptr)
{
	size_t size = header_of(ptr)->size;
	struct list *list = &lists[power_of(size)];

	if (size > LARGE) {
		munmap((char *)ptr - HEADER, size + HEADER);
	} else if (size <= SMALL || (max_free_list && list->count >= max_free_list)) {
		block_delete(ptr);
	} else {
		*(void **)ptr = list->first;
		list->first = ptr;
		if (list->count++ == 0 && key_is_there)
			pthread_setspecific(key, lists);
	}
}

static void thread_ends(void *unused)
{
	(void)unused;
	for (struct list *list = lists; list < lists + 64; list++)
		while (list->first) {
			void *ptr = list->first;

			list->first = *(void **)ptr;
			list->count--;
			block_delete(ptr);
		}
}

__attribute__((constructor)) static void prepare(void)
{
	const char *text = getenv("BASELINE_MAXFREELIST");

	max_free_list = text ? strtoul(text, NULL, 10) : 0;
	key_is_there = pthread_key_create(&key, thread_ends) == 0;
}
