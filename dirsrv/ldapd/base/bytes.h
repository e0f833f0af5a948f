/* SPDX-License-Identifier: MIT */
/* Bytes with a length: comparing, folding of ASCII case, hashes that are stored on disk. */
#pragma once

#include "posix.h"

#include <slab/dirsrv/entry.h>

static inline struct dirsrv_bytes bytes_of(const char *text)
{
	struct dirsrv_bytes bytes = {.data = text, .length = strlen(text)};

	return bytes;
}

static inline char bytes_fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static inline bool bytes_equal(struct dirsrv_bytes a, struct dirsrv_bytes b)
{
	return a.length == b.length && (!a.length || memcmp(a.data, b.data, a.length) == 0);
}

/* Equal but for the case of ASCII letters. */
static inline bool bytes_equal_folded(struct dirsrv_bytes a, struct dirsrv_bytes b)
{
	const char *x = a.data, *y = b.data;

	if (a.length != b.length)
		return false;
	for (size_t i = 0; i < a.length; i++)
		if (bytes_fold(x[i]) != bytes_fold(y[i]))
			return false;
	return true;
}

/* < 0, 0, > 0 in the order of bytes; a prefix comes before the longer text. */
static inline int bytes_compare(struct dirsrv_bytes a, struct dirsrv_bytes b)
{
	size_t common = a.length < b.length ? a.length : b.length;
	int order = common ? memcmp(a.data, b.data, common) : 0;

	if (order)
		return order;
	return a.length < b.length ? -1 : a.length > b.length;
}

/* FNV-1a in 64 bits. Databases have such hashes: it must not change. */
static inline uint64_t bytes_hash(const void *data, size_t length)
{
	const unsigned char *at = data;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}
