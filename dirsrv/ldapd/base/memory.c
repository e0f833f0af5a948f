/* SPDX-License-Identifier: MIT */
/* Memory that grows. */
#include "base/memory.h"

#include <slab/malloc.h>

int cache_stop(struct slab_cache **cache)
{
	int error = slab_cache_destroy(*cache);

	if (!error)
		*cache = NULL;
	return error;
}

void *array_grow(void *items, size_t *capacity, size_t wanted, size_t size)
{
	void *grown;

	if (items && wanted <= *capacity)
		return items;
	wanted += wanted / 2 + 32;
	grown = slab_realloc(items, wanted * size);
	if (grown)
		*capacity = wanted;
	return grown;
}

char *buffer_reserve(struct buffer *buffer, size_t more)
{
	char *grown = buffer->failed ? NULL
				     : array_grow(buffer->data, &buffer->capacity,
						  buffer->length + more, 1);

	if (!grown) {
		buffer->failed = true;
		return NULL;
	}
	buffer->data = grown;
	return grown + buffer->length;
}

void buffer_append(struct buffer *buffer, const void *data, size_t length)
{
	char *to = length ? buffer_reserve(buffer, length) : NULL;

	if (!to)
		return;
	memcpy(to, data, length);
	buffer->length += length;
}

void buffer_byte(struct buffer *buffer, char byte)
{
	buffer_append(buffer, &byte, 1);
}

void buffer_text(struct buffer *buffer, const char *text)
{
	buffer_append(buffer, text, strlen(text));
}

void buffer_clear(struct buffer *buffer)
{
	buffer->length = 0;
	buffer->failed = false;
}

void buffer_free(struct buffer *buffer)
{
	slab_mfree(buffer->data);
	memset(buffer, 0, sizeof(*buffer));
}

struct arena_block {
	struct arena_block *next;
	char data[];
};

struct dirsrv_bytes arena_copy(struct arena *arena, struct dirsrv_bytes bytes)
{
	struct arena_block *block = slab_malloc(sizeof(*block) + bytes.length + 1);
	struct dirsrv_bytes copy = {"", 0};

	if (!block) {
		arena->failed = true;
		return copy;
	}
	block->next = arena->blocks;
	arena->blocks = block;
	if (bytes.length)
		memcpy(block->data, bytes.data, bytes.length);
	block->data[bytes.length] = '\0';
	copy.data = block->data;
	copy.length = bytes.length;
	return copy;
}

void arena_free(struct arena *arena)
{
	struct arena_block *next;

	for (; arena->blocks; arena->blocks = next) {
		next = arena->blocks->next;
		slab_mfree(arena->blocks);
	}
	arena->failed = false;
}
