/* SPDX-License-Identifier: MIT */
/*
 * malloc() and the functions that the C library and C23 add to it. Each jumps to the function of
 * <slab/malloc.h>, so libslab sees the return address of the program's own call.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include <slab/malloc.h>

#include "family.h"
#include "tick.h"

void *malloc(size_t size)
{
	return slab_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return slab_calloc(n, size);
}

/* As the C library's: for size 0 it frees, and returns NULL. */
void *realloc(void *ptr, size_t size)
{
	return slab_realloc(ptr, size);
}

void *reallocarray(void *ptr, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return slab_realloc(ptr, bytes);
}

void free(void *ptr)
{
	tick_count();
	slab_mfree(ptr);
}

void cfree(void *ptr)
{
	slab_mfree(ptr);
}

void free_sized(void *ptr, size_t size)
{
	slab_delete(ptr, SLAB_PAIR_MALLOC, 0, size);
}

void free_aligned_sized(void *ptr, size_t align, size_t size)
{
	slab_delete(ptr, SLAB_PAIR_MALLOC, align, size);
}

size_t malloc_usable_size(void *ptr)
{
	return slab_usable_size(ptr);
}
