/* SPDX-License-Identifier: MIT */
/*
 * The statistics of a process's caches as C structures, made from its JSON answer. Numbers that an
 * older library does not send are zero.
 */
#pragma once

#include <json-c/json.h>
#include "posix.h"

/* How JSON is printed. */
#define JSON_STYLE                                                                                 \
	(JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

struct cache {
	const char *name; /* printable */
	uint64_t flags;
	uint64_t object_size;
	uint64_t slab_size; /* bytes from one object to the next */
	uint64_t align;
	uint64_t objects_per_slab;
	uint64_t order;
	uint64_t has_ctor;
	uint64_t slabs;
	uint64_t slab_bytes; /* of all slabs */
	uint64_t partial;
	uint64_t full;
	uint64_t empty;
	uint64_t objects;
	uint64_t total_objects;
	uint64_t objects_partial;
	uint64_t cpu_objects; /* free objects that CPUs hold */
	uint64_t errors; /* problems found */
	uint64_t debug_slabs;
	uint64_t legacy_slabs; /* freed into, not allocated from */
	uint64_t sample;         /* N: one allocation in N is guarded, 0: none */
	struct json_object *json; /* the cache's object, for numbers that only one view needs */
};

struct model {
	struct json_object *document; /* the answer; names point into it */
	struct cache *caches;
	size_t count;
};

/* model_load: takes over the document. false after an error message by fail(): there is no memory,
 * or the document is not an answer to "stats"; then the document is freed. */
bool model_load(struct model *model, struct json_object *document);
void model_free(struct model *model);

/* A member of an object: a number, 0 if it is missing; a printable text, "" if it is missing; any
 * member, or NULL. model_raw_text returns a text as it was sent, for comparing or quoting it.
 * model_length: the length of an array; 0 if it is not an array. */
uint64_t model_number(struct json_object *object, const char *key);
const char *model_text(struct json_object *object, const char *key);
const char *model_raw_text(struct json_object *object, const char *key);
struct json_object *model_member(struct json_object *object, const char *key);
size_t model_length(struct json_object *array);

/* Add a member to an object. */
void model_add_number(struct json_object *object, const char *key, uint64_t number);
void model_add_text(struct json_object *object, const char *key, const char *text);

/* model_event: how often the event with this name happened in the cache. */
uint64_t model_event(const struct cache *cache, const char *name);

/* Bytes of the next slab, and of the objects in use. */
uint64_t cache_slab_bytes(const struct cache *cache);
uint64_t cache_used_bytes(const struct cache *cache);

/* The number of slabs that the free objects of CPUs would fill. */
uint64_t cache_cpu_slabs(const struct cache *cache);

/* percent: `part` in per cent of `whole`; 0 if `whole` is 0. */
uint64_t percent(uint64_t part, uint64_t whole);
