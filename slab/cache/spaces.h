/* SPDX-License-Identifier: MIT */
/*
 * The address spaces of caches with SLAB_APART, which outlive their caches: a cache of the same
 * name and layout gets that of a destroyed one, and no other cache does. The caller holds
 * registry_lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "pages/space.h"

/* Caches with equal ones have the same type of objects, at the same distances. */
struct space_key {
	const char *name;
	size_t object_size, align;
	bool has_rcu;
};

/* That of a destroyed cache with this key, or a new one. NULL and ENOMEM. */
struct space *spaces_take(const struct space_key *key);
/* The cache was destroyed. NULL: it has none. */
void spaces_put(struct space *space);
