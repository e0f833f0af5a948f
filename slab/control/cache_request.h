/* SPDX-License-Identifier: MIT */
/*
 * Requests of the control socket about caches. `reply` is an empty document; what follows the
 * command in a request is called `rest`.
 */
#ifndef SLAB_CONTROL_CACHE_REQUEST_H
#define SLAB_CONTROL_CACHE_REQUEST_H

#include <stdbool.h>

struct slab_cache;
struct slab_json;
/* The cache with this name or alias, pinned; NULL: none, and the reply is an error. */
struct slab_cache *control_find(struct slab_json *reply, const char *name);

/*
 * control_on_cache: call act for the cache with this name or alias, pinned and with no lock
 * held. False: there is none, or act returned -errno, and the reply is an error.
 */
bool control_on_cache(struct slab_json *reply, const char *command, const char *name,
		      long (*act)(struct slab_cache *cache, void *arg), void *arg);

/* The commands about debugging (requests_debug.c). */
void control_answer_debug(struct slab_json *reply, const char *rest);
void control_answer_mark(struct slab_json *reply, const char *rest);
void control_answer_sample(struct slab_json *reply, const char *rest);
void control_answer_fail(struct slab_json *reply, const char *rest);
/* … and those that tune and return memory (requests_tune.c). */
void control_answer_set(struct slab_json *reply, const char *rest);
void control_answer_reset(struct slab_json *reply, const char *rest);
void control_answer_trim(struct slab_json *reply, const char *rest);
void control_answer_count(struct slab_json *reply, const char *rest);

#endif /* SLAB_CONTROL_CACHE_REQUEST_H */
