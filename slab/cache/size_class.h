/* SPDX-License-Identifier: MIT */
/*
 * Size classes of allocations by size: multiples of 16 up to 128, then eight per doubling, so above
 * 128 a class is at most 12.5 % larger than the class below.
 */
#pragma once

#include <stddef.h>

#define SMALL_CLASSES 8u /* 16, 32, … 128 */
#define CLASSES 72u /* up to SLAB_MALLOC_MAX_CACHED */

/* The class of a size, from 1 on. */
static inline unsigned class_of(size_t size)
{
	unsigned log2;

	if (size <= 128)
		return size ? (unsigned)(size + 15) / 16 : 1;
	/* Classes above 2^log2 are an eighth of 2^log2 apart. */
	log2 = 63 - (unsigned)__builtin_clzl(size - 1);
	return 1 + SMALL_CLASSES + (log2 - 7) * 8 + (unsigned)(((size - 1) >> (log2 - 3)) & 7);
}

static inline size_t class_size(unsigned class)
{
	unsigned step = class - SMALL_CLASSES - 1, log2 = 7 + step / 8;

	if (class <= SMALL_CLASSES)
		return (size_t)class * 16;
	return ((size_t)1 << log2) + ((size_t)(step % 8 + 1) << (log2 - 3));
}
