/* SPDX-License-Identifier: MIT */
/* The arithmetic of bit maps. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The number of set bits: __builtin_popcountll() may be a function call. */
static inline unsigned bits_count(uint64_t x)
{
	x -= x >> 1 & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (unsigned)(x * UINT64_C(0x0101010101010101) >> 56);
}

/* The n lowest bits; n is 0 to 64. */
static inline uint64_t bits_low(unsigned n)
{
	return n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
}

/* Are the set bits neighbours? x is not 0. */
static inline bool bits_are_run(uint64_t x)
{
	return !((x + (x & -x)) & x);
}

/* What one instruction of most processors handles. */
typedef uint64_t two_words __attribute__((vector_size(16)));
