/* SPDX-License-Identifier: MIT */
/*
 * From a pointer that the application passed to its slab. The pointer may have any value.
 * Where fault_installed(), one to unmapped memory leads to slab_none. One to readable
 * memory that is not libslab's leads to whatever stands there; segment_known() finds that
 * out.
 */
#ifndef SLAB_CORE_USER_POINTER_H
#define SLAB_CORE_USER_POINTER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/slab.h"
#include "fixup.h"

static inline __attribute__((always_inline)) struct cpu_slab *const *slab_entry(const void *ptr)
{
	struct cpu_slab *const *table =
		(struct cpu_slab *const *)(segment_start(ptr) + SEGMENT_TABLE_OFFSET);

	return &table[(uint8_t)((uintptr_t)ptr >> SEGMENT_UNIT_SHIFT)];
}

/* The slab, and whether it is not `user`'s; then nothing else of it may be read
 * before segment_known(). */
static inline __attribute__((always_inline)) struct slab *slab_of_user(const void *ptr,
								       const void *user,
								       bool *ret_other)
{
	return slab_from_cpu(fixup_slab_of_user(slab_entry(ptr), user, ret_other));
}

#endif /* SLAB_CORE_USER_POINTER_H */
