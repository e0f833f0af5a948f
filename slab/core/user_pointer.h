/* SPDX-License-Identifier: MIT */
/*
 * Finding the slab of a pointer that the application passed, which may have any value.
 *
 * If the fault handler is installed (fault_installed()), a pointer to unmapped memory leads to
 * slab_none. A pointer to readable memory that is not libslab's leads to an arbitrary address. So
 * the caller checks segment_known() before it reads the slab.
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

	return &table[(uintptr_t)ptr >> SEGMENT_UNIT_SHIFT & (SEGMENT_UNITS - 1)];
}

/* *ret_other: the slab does not belong to `user`. The caller then checks segment_known() before it
 * reads anything else of the slab. */
static inline __attribute__((always_inline)) struct slab *slab_of_user(const void *ptr,
								       const void *user,
								       bool *ret_other)
{
	return slab_from_cpu(fixup_slab_of_user(slab_entry(ptr), user, ret_other));
}

#endif /* SLAB_CORE_USER_POINTER_H */
