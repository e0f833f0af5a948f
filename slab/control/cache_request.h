/* SPDX-License-Identifier: MIT */
/*
 * What the answers of the control socket have in common. `reply` is an empty
 * document; what follows the command in a request is called `rest`.
 */
#ifndef SLAB_CONTROL_ANSWER_H
#define SLAB_CONTROL_ANSWER_H

#include "control/server.h"
#include "core/slab_internal.h"

/* An answer's frame: {"slab":1,"ok":…, and }. */
void control_begin(struct slab_json *reply, bool ok);
void control_end(struct slab_json *reply);

/* The cache that has this name or alias, pinned; NULL: none, and the reply is a refusal. */
struct slab_cache *control_find(struct slab_json *reply, const char *name);
/* Debug letters as a string, "-" for none. */
void control_put_letters(struct slab_json *reply, const char *key, uint64_t letters);

/* The next word of a request: its length; *rest goes on behind it and blanks. */
size_t control_cut_word(const char **rest, const char **ret_word);
/* How much of a word an answer repeats, as "%.*s" wants it. */
#define WORD_SHOWN(len) ((len) < 32 ? (int)(len) : 32)

/*
 * control_on_cache: call act for the cache that has this name or alias, pinned and with
 * no lock held. False: there is none, or act returned -errno, and the reply is a refusal.
 */
bool control_on_cache(struct slab_json *reply, const char *command, const char *name,
		      long (*act)(struct slab_cache *cache, void *arg), void *arg);

/* What the commands about debugging answer (requests_debug.c). */
void control_answer_debug(struct slab_json *reply, const char *rest);
void control_answer_mark(struct slab_json *reply, const char *rest);
void control_answer_sample(struct slab_json *reply, const char *rest);
void control_answer_fail(struct slab_json *reply, const char *rest);

/* … and those that tune and tidy up (requests_tune.c). */
void control_answer_set(struct slab_json *reply, const char *rest);
void control_answer_reset(struct slab_json *reply, const char *rest);
void control_answer_trim(struct slab_json *reply, const char *rest);
void control_answer_count(struct slab_json *reply, const char *rest);

#endif /* SLAB_CONTROL_ANSWER_H */
