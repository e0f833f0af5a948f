/* SPDX-License-Identifier: MIT */
/*
 * The check of slab_cache_create()'s arguments, and the reason of a failure as text, for
 * SLAB_PANIC and slab_create_error().
 */
#ifndef SLAB_CACHE_CREATE_ARGS_H
#define SLAB_CACHE_CREATE_ARGS_H

#include <slab/slab.h>

/* Take the caller's arguments. Returns NULL, or why they cannot be taken. */
const char *create_args_read(struct slab_cache_args *args, const struct slab_cache_args *from,
			     size_t bytes);
/* Returns NULL, or what is wrong with them. */
const char *create_args_check(const char *name, size_t size, const struct slab_cache_args *args,
			      uint64_t flags);

/* This thread's creation failed for this reason, a string constant; NULL: it did not. */
void create_args_set_error(const char *reason);

#endif /* SLAB_CACHE_CREATE_ARGS_H */
