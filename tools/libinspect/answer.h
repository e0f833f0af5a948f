/* SPDX-License-Identifier: MIT */
/* Answers to the requests that only read a process, as JSON (docs/schema). */
#pragma once

#include <slab/inspect.h>
#include <stdint.h>

#include "process.h"

struct slab_json;
/* Write all statistics of a cache, as an element of an array. */
void inspect_put_cache(struct slab_json *json, const struct inspect_cache *cache);

/* Load all caches, and with a name drop the others. Returns 0 or -errno, -ENOENT with the refusal
 * in the document. */
int inspect_load_meant(struct inspection *in, const char *name, struct slab_json *json);

/* --- objects and memory (answer_objects.c) ----------------------------------------------- */

/* Answer the requests "objects [NAME]", "object ADDRESS", "regions" and "validate [NAME]". The last
 * is for a process that stands still, or a core file. */
int inspect_put_objects(struct inspection *in, const char *name, struct slab_json *json);
int inspect_put_object(struct inspection *in, const char *rest, struct slab_json *json);
int inspect_put_regions(struct inspection *in, const char *rest, struct slab_json *json);
int inspect_put_verified(struct inspection *in, const char *name, struct slab_json *json);

/* --- waste (answer_waste.c) ------------------------------------------------------------- */

/* Answer the request "waste". */
int inspect_put_waste(struct inspection *in, const char *rest, struct slab_json *json);

/* --- stacks (answer_stacks.c) ----------------------------------------------------------- */

/* Write the member `stack`: addresses. */
void inspect_put_stack(struct slab_json *json, const void *const *frame, unsigned frames);
/* Answer the request "profile". */
int inspect_put_profile(struct inspection *in, const char *rest, struct slab_json *json);
