/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* round_up, round_down: to a multiple of `to`, which is a power of two. */
static inline size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) & ~(to - 1);
}

static inline size_t round_down(size_t n, size_t to)
{
	return n & ~(to - 1);
}
