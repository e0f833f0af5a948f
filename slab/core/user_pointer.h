/* SPDX-License-Identifier: MIT */
/*
 * Finding the user of the slab of a pointer that the application passed, which may have any value.
 *
 * If the fault handler is installed (fault_installed()), a pointer to unmapped memory leads to the
 * user
 * 0. A pointer to readable memory that is not libslab's leads to an arbitrary word. So a caller
 * whose comparison fails checks segment_known() before it reads the slab.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/slab.h"
#include "fixup.h"

/* Is `user` the user of the slab that contains ptr? */
static inline __attribute__((always_inline)) bool slab_has_user(const void *ptr, const void *user)
{
	return SLAB_LIKELY(fixup_equals(segment_user_word(ptr), (uintptr_t)user));
}

/* The cache of the untagged slab that has this address of a segment of slabs; NULL: none. */
static inline struct slab_cache *segment_plain_user(const void *ptr)
{
	const uintptr_t user = segment_user(ptr);

	return user & SLAB_TAGS ? NULL : (struct slab_cache *)user;
}
