/* SPDX-License-Identifier: MIT */
/* The allocators that the loads run on. */
#ifndef SCALE_BACKENDS_H
#define SCALE_BACKENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct backend {
	const char *name;
	bool threads; /* keeps its caches per thread */
	void *(*create)(size_t size, unsigned number);
	void *(*alloc)(void *cache);
	void (*free)(void *cache, void *obj);
	/* Print what the allocator counts itself, for all caches together. */
	void (*print)(FILE *out, void *const *caches, unsigned n);
};

/* NULL: there is no such allocator. */
const struct backend *backend_find(const char *name);

#endif /* SCALE_BACKENDS_H */
