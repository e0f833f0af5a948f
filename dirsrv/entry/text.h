/* SPDX-License-Identifier: MIT */
/* Hashes of bytes, and folding of ASCII case. Types and DNs are compared with ASCII case folded. */
#ifndef DIRSRV_ENTRY_TEXT_H
#define DIRSRV_ENTRY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline char text_fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static inline bool text_equal_folded(const char *a, const char *b, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text_fold(a[i]) != text_fold(b[i]))
			return false;
	return true;
}

/* The golden ratio in 64 bits. */
#define TEXT_HASH_ODD UINT64_C(0x9e3779b97f4a7c15)

/* A hash that reads eight bytes at a time. */
static inline uint64_t text_hash(const char *bytes, size_t length)
{
	uint64_t hash = length * TEXT_HASH_ODD, word;

	for (; length >= 8; length -= 8, bytes += 8) {
		memcpy(&word, bytes, 8);
		hash = (hash ^ word) * TEXT_HASH_ODD;
		hash ^= hash >> 29;
	}
	if (length) {
		word = 0;
		memcpy(&word, bytes, length);
		hash = (hash ^ word) * TEXT_HASH_ODD;
	}
	return hash ^ hash >> 32;
}

/* A hash that ignores ASCII case, for short texts. */
static inline uint64_t text_hash_folded(const char *text, size_t length)
{
	uint64_t hash = length;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text_fold(text[i])) * TEXT_HASH_ODD;
	return hash ^ hash >> 32;
}

#endif /* DIRSRV_ENTRY_TEXT_H */
