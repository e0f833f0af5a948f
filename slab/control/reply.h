/* SPDX-License-Identifier: MIT */
/*
 * Common parts of the answers of the control socket and of slab_inspect(): the frame, error
 * answers, and words of a request.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/json.h"

/* The frame of an answer: {"slab":2,"ok":… and }. */
void control_begin(struct slab_json *reply, bool ok);
void control_end(struct slab_json *reply);

/* slab_control_refuse: write an error answer; `reply` is an empty document. */
void slab_control_refuse(struct slab_json *reply, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Debug flags as a string, "-" for none. */
void control_put_debug_flags(struct slab_json *reply, const char *key, uint64_t debug_flags);
/* Cut the next word off a request: returns its length, and *rest points behind the word and the
 * blanks that follow. */
size_t control_cut_word(const char **rest, const char **ret_word);

/* The number of characters of a word that an answer quotes, for "%.*s". */
#define WORD_SHOWN(len) ((len) < 32 ? (int)(len) : 32)
