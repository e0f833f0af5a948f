/* SPDX-License-Identifier: MIT */
/*
 * The check of slab_cache_create()'s arguments, and the reason of a failure as text, for
 * SLAB_PANIC and slab_create_error().
 */
#pragma once

#include <slab/slab.h>

/* Copy the application's arguments. Returns NULL, or the reason of a failure. */
const char *create_args_read(struct slab_cache_args *args, const struct slab_cache_args *from,
			     size_t bytes);
/* Check the arguments. Returns NULL, or the reason of a failure. */
const char *create_args_check(const char *name, size_t size, const struct slab_cache_args *args,
			      uint64_t flags);

/* Set what slab_create_error() returns in this thread: the reason why the creation failed, a
 * string constant, or NULL. */
void create_args_set_error(const char *reason);
