/* SPDX-License-Identifier: MIT */
/* Ranges of memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Do the bytes from `start` on lie in the range at `range`? Any address may be given. */
static inline bool range_has(const void *range, size_t range_bytes, const void *start, size_t bytes)
{
	const uintptr_t into = (uintptr_t)start - (uintptr_t)range;

	return bytes <= range_bytes && into <= range_bytes - bytes;
}
