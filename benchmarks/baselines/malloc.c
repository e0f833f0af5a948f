/* SPDX-License-Identifier: MIT */
/* malloc and its family over a pool, for LD_PRELOAD. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "block.h"

#define EXPORT __attribute__((visibility("default")))

/* Aligned blocks are none of the pool's: their offset says so. */
static void *aligned(size_t align, size_t size)
{
	char *start;
	size_t offset = align > HEADER ? align : 2 * HEADER;

	if (align & (align - 1) || size > SIZE_MAX / 2 || align > SIZE_MAX / 4) {
		errno = align & (align - 1) ? EINVAL : ENOMEM;
		return NULL;
	}
	start = __libc_memalign(offset, size + offset);
	if (!start)
		return NULL;
	*header_of(start + offset) = (struct header){size, offset};
	return start + offset;
}

EXPORT void *malloc(size_t size)
{
	return pool_alloc(size);
}

EXPORT void free(void *ptr)
{
	int error = errno;

	if (!ptr)
		return;
	if (header_of(ptr)->offset == HEADER)
		pool_free(ptr);
	else
		block_delete(ptr);
	errno = error;
}

EXPORT void *calloc(size_t n, size_t size)
{
	size_t bytes;
	void *ptr;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	ptr = pool_alloc(bytes);
	return ptr ? memset(ptr, 0, bytes) : NULL;
}

/* Neither size is the pool's: the C library may move pages, or leave the block in place. */
static void *resize(void *ptr, size_t size)
{
	char *start;

	if (size > SIZE_MAX - HEADER) {
		errno = ENOMEM;
		return NULL;
	}
	start = __libc_realloc((char *)ptr - HEADER, size + HEADER);
	if (!start)
		return NULL;
	((struct header *)start)->size = size;
	return start + HEADER;
}

EXPORT void *realloc(void *ptr, size_t size)
{
	struct header *header;
	void *moved;

	if (!ptr)
		return pool_alloc(size);
	if (size == 0) {
		free(ptr);
		return NULL;
	}
	header = header_of(ptr);
	if (header->offset == HEADER && pool_capacity(size) == pool_capacity(header->size)) {
		header->size = size;
		return ptr;
	}
	if (header->offset == HEADER && !pool_serves(size) && !pool_serves(header->size))
		return resize(ptr, size);
	moved = pool_alloc(size);
	if (!moved)
		return NULL;
	memcpy(moved, ptr, size < header->size ? size : header->size);
	free(ptr);
	return moved;
}

EXPORT void *reallocarray(void *ptr, size_t n, size_t size)
{
	size_t bytes;

	if (!__builtin_mul_overflow(n, size, &bytes))
		return realloc(ptr, bytes);
	errno = ENOMEM;
	return NULL;
}

EXPORT void *memalign(size_t align, size_t size)
{
	return aligned(align, size);
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
	return aligned(align, size);
}

EXPORT int posix_memalign(void **ptr, size_t align, size_t size)
{
	int error = errno;
	void *block;

	if (align < sizeof(void *) || align & (align - 1))
		return EINVAL;
	block = aligned(align, size);
	errno = error;
	if (!block)
		return ENOMEM;
	*ptr = block;
	return 0;
}

EXPORT void *valloc(size_t size)
{
	return aligned((size_t)sysconf(_SC_PAGESIZE), size);
}

EXPORT size_t malloc_usable_size(void *ptr)
{
	return ptr ? header_of(ptr)->size : 0;
}
