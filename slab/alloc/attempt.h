/* SPDX-License-Identifier: MIT */
/* One attempt at an allocation off the fast path. It does not reclaim and does not use the reserve;
 * alloc_slow.c does that between attempts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct slab_cache;

/* The parameters of one allocation. */
struct alloc_request {
	struct slab_cache *cache;
	int node; /* -1: any */
	bool strict;
	size_t requested;
	const void *caller;
	bool sampled; /* of the heap profile (report/profile.h) */
};

/* Returns NULL with ENOMEM if there is no memory. */
void *alloc_attempt(const struct alloc_request *request);
/* Does fault injection make this allocation fail? If so, errno is ENOMEM. */
bool alloc_is_to_fail(const struct slab_cache *cache);
