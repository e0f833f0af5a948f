/* SPDX-License-Identifier: MIT */
/* Copies of bytes that are freed together. */
#include "base/arena.h"

#include <slab/malloc.h>
#include <string.h>

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
