/* SPDX-License-Identifier: MIT */
/*
 * What both baselines share: the family of malloc over two functions of the pool, and a header in
 * front of each block with its size.
 *
 * 389-ds's memo puts the size into 8 bytes in front of a block. Programs rely on malloc's alignment
 * of 16 bytes, so that the header has 16 here.
 */
#ifndef BASELINES_BLOCK_H
#define BASELINES_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

struct header {
	size_t size;   /* as requested */
	size_t offset; /* of the block in what the C library gave */
};

#define HEADER sizeof(struct header)

/* The C library's own functions, which it exports beside malloc. */
void *__libc_malloc(size_t size);
void *__libc_memalign(size_t align, size_t size);
void *__libc_realloc(void *ptr, size_t size);
void __libc_free(void *ptr);

static inline struct header *header_of(void *ptr)
{
	return (struct header *)ptr - 1;
}

/* block_new: `capacity` bytes of the C library's for a block of `size`; NULL: errno says why. */
void *block_new(size_t size, size_t capacity);
void block_delete(void *ptr);

/* pool_alloc: a block from the pool, or from block_new(). pool_free: back into it, or
 * block_delete(). pool_serves: blocks of this size are not the C library's alone. pool_capacity:
 * what a block of `size` has room for. */
void *pool_alloc(size_t size);
void pool_free(void *ptr);
bool pool_serves(size_t size);
size_t pool_capacity(size_t size);

/* power_of: the smallest n so that 2^n is not less than size. */
static inline unsigned power_of(size_t size)
{
	return size <= 1 ? 0 : 64 - (unsigned)__builtin_clzl(size - 1);
}

#endif /* BASELINES_BLOCK_H */
