/* SPDX-License-Identifier: MIT */
/*
 * Experiments 1-1 to 1-3 of 389-ds's "Memory Usage Research": one pool for all threads, protected by
 * a mutex, that never gives memory back. It has a list for each of the server's structs, told by
 * their sizes since malloc knows no types; from 1-2 on also lists of powers of two for attribute
 * values of VALUES_FROM bytes to 64 MiB. In 1-3 values beyond 128 KiB are mapped.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "block.h"

#define VALUES_TO ((size_t)64 << 20)
#define MAPPED_FROM ((size_t)128 << 10)
#define NO_LIST UINT32_MAX

/* pblock, operation, entry, and the backend's entry: then and today */
static const size_t structs[] = {712, 480, 416, 184, 112, 96, 88};

#define STRUCTS (sizeof(structs) / sizeof(structs[0]))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *lists[STRUCTS + 64]; /* linked through the blocks */

static unsigned list_of(size_t size)
{
	for (unsigned i = 0; i < STRUCTS; i++)
		if (structs[i] == size)
			return i;
	if (size >= VALUES_FROM && size <= VALUES_TO)
		return (unsigned)STRUCTS + power_of(size);
	return NO_LIST;
}

bool pool_serves(size_t size)
{
	return list_of(size) != NO_LIST;
}

size_t pool_capacity(size_t size)
{
	unsigned list = list_of(size);

	return list == NO_LIST || list < STRUCTS ? size : (size_t)1 << (list - STRUCTS);
}

/* A mapping is a block of the C library's in all but its origin. */
static void *new_block(size_t size)
{
	size_t capacity = pool_capacity(size);
	char *start;

	if (!VALUES_MAPPED || size <= MAPPED_FROM || size > VALUES_TO)
		return block_new(size, capacity);
	start = mmap(NULL, capacity + HEADER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (start == MAP_FAILED)
		return NULL;
	*(struct header *)start = (struct header){size, HEADER};
	return start + HEADER;
}

void *pool_alloc(size_t size)
{
	unsigned list = list_of(size);
	void *ptr;

	if (list == NO_LIST)
		return block_new(size, size);
	pthread_mutex_lock(&lock);
	ptr = lists[list];
	if (ptr)
		lists[list] = *(void **)ptr;
	pthread_mutex_unlock(&lock);
	if (!ptr)
		return new_block(size);
	header_of(ptr)->size = size;
	return ptr;
}

void pool_free(void *ptr)
{
	unsigned list = list_of(header_of(ptr)->size);

	if (list == NO_LIST) {
		block_delete(ptr);
		return;
	}
	pthread_mutex_lock(&lock);
	*(void **)ptr = lists[list];
	lists[list] = ptr;
	pthread_mutex_unlock(&lock);
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void prepare(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}
