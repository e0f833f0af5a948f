/* SPDX-License-Identifier: MIT */
/* Answers about a process, as JSON. */
#ifndef SLAB_STATS_ANSWER_H
#define SLAB_STATS_ANSWER_H

#include <slab/inspect.h>
#include <stdint.h>

#include "inspect/process.h"

struct slab_json;
/* As slab_inspect(), into an empty document, which stays empty after -ENOMEM. */
int inspect_answer(const struct slab_reader *reader, uint64_t root, inspect_locate locate,
		   const char *request, struct slab_json *json);
/* The members `legacy` and `legacy_slabs`. */
void inspect_put_legacy(struct slab_json *json, const struct inspect_cache *cache);
/* All of a cache, as an element of an array. */
void inspect_put_cache(struct slab_json *json, struct inspection *in,
		       const struct inspect_cache *cache);

#endif /* SLAB_STATS_ANSWER_H */
