/* SPDX-License-Identifier: MIT */
/*
 * One attempt at an allocation off the fast path: it neither reclaims nor takes from the
 * reserve.
 */
#ifndef SLAB_ALLOC_ATTEMPT_H
#define SLAB_ALLOC_ATTEMPT_H

#include <stdbool.h>
#include <stddef.h>

struct slab_cache;

/* An allocation. */
struct alloc_request {
	struct slab_cache *cache;
	int node; /* -1: any */
	bool strict;
	size_t requested;
	const void *caller;
};

/* NULL and ENOMEM. */
void *alloc_attempt(const struct alloc_request *request);
/* Fault injection: this allocation fails; sets errno. */
bool alloc_is_to_fail(const struct slab_cache *cache);

#endif /* SLAB_ALLOC_ATTEMPT_H */
