/* SPDX-License-Identifier: MIT */
/*
 * Requests of the control socket that act on caches. `reply` is an empty document; `rest` is the
 * part of a request after the command.
 */
#pragma once

#include <stdbool.h>

struct pin;
struct slab_cache;
struct slab_json;
/* Find and pin the cache with this name or alias. NULL: there is none, and the reply is an
 * error. */
struct slab_cache *control_find(struct slab_json *reply, const char *name, struct pin *pin);

/*
 * control_on_cache: call act for the cache with this name or alias. The cache is pinned, and no
 * lock is held. false: there is no such cache, or act returned -errno; the reply is an error.
 */
bool control_on_cache(struct slab_json *reply, const char *command, const char *name,
		      long (*act)(struct slab_cache *cache, void *arg), void *arg);

/* Whether the client is root; may it make allocations fail? */
void control_set_rights(bool has_rights);
bool control_may_harm(void);

/* The commands about debugging (requests_debug.c). */
void control_answer_debug(struct slab_json *reply, const char *rest);
void control_answer_mark(struct slab_json *reply, const char *rest);
void control_answer_sample(struct slab_json *reply, const char *rest);
void control_answer_fail(struct slab_json *reply, const char *rest);
void control_answer_profile(struct slab_json *reply, const char *rest);
/* The command that reads libslab's structures (requests_read.c). */
void control_answer_read(struct slab_json *reply, const char *rest);
/* The commands that tune caches, return memory and count allocations (requests_tune.c). */
void control_answer_set(struct slab_json *reply, const char *rest);
void control_answer_reset(struct slab_json *reply, const char *rest);
void control_answer_trim(struct slab_json *reply, const char *rest);
void control_answer_count(struct slab_json *reply, const char *rest);
