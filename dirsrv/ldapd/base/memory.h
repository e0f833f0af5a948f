/* SPDX-License-Identifier: MIT */
/*
 * Memory that grows, from slab_malloc(): arrays, buffers of bytes, copies that are freed together.
 * What is all zero is empty. When memory runs out, the object remembers it and ignores what is
 * added, so that a caller checks once.
 */
#pragma once

#include <slab/dirsrv/entry.h>
#include "posix.h"

struct slab_cache;

/* cache_stop: destroy a cache and forget it. Returns 0, or -EBUSY: objects are still allocated. */
int cache_stop(struct slab_cache **cache);

/* array_grow: room for `wanted` items of `size` bytes, with some to spare; NULL: no memory, and the
 * array is as it was. */
void *array_grow(void *items, size_t *capacity, size_t wanted, size_t size);

/* Bytes that grow at their end. */
struct buffer {
	char *data;
	size_t length;
	size_t capacity;
	bool failed; /* no memory: the contents are not complete */
};

/* buffer_reserve: room for `more` bytes behind the contents, or NULL. The caller writes there and
 * increases `length`. */
char *buffer_reserve(struct buffer *buffer, size_t more);

void buffer_append(struct buffer *buffer, const void *data, size_t length);
void buffer_byte(struct buffer *buffer, char byte);
void buffer_text(struct buffer *buffer, const char *text);

/* buffer_clear: empty it and keep its memory; buffer_free: free the memory. */
void buffer_clear(struct buffer *buffer);
void buffer_free(struct buffer *buffer);

struct arena_block;

/* Copies of bytes. */
struct arena {
	struct arena_block *blocks;
	bool failed; /* no memory: some copy has no bytes */
};

/* arena_copy: a copy with a zero byte behind it; length 0 and arena->failed: no memory. */
struct dirsrv_bytes arena_copy(struct arena *arena, struct dirsrv_bytes bytes);

void arena_free(struct arena *arena);
