/* SPDX-License-Identifier: MIT */
/* Copies of bytes that are freed together. An arena that is all zero is empty. */
#ifndef LDAPD_BASE_ARENA_H
#define LDAPD_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include <slab/dirsrv/entry.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
	bool failed; /* no memory: some copy has no bytes */
};

/* arena_copy: a copy with a zero byte behind it; length 0 and arena->failed: no memory. */
struct dirsrv_bytes arena_copy(struct arena *arena, struct dirsrv_bytes bytes);

void arena_free(struct arena *arena);

#endif /* LDAPD_BASE_ARENA_H */
