/* SPDX-License-Identifier: MIT */
/*
 * What a process tells about its caches, as C structures. Numbers that an older
 * library does not send are zero.
 */
#ifndef SLABINFO_MODEL_H
#define SLABINFO_MODEL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache {
	const char *name;
	uint64_t flags;
	uint64_t object_size;
	uint64_t slab_size; /* bytes from one object to the next */
	uint64_t align;
	uint64_t objects_per_slab;
	uint64_t order;
	uint64_t has_ctor;
	uint64_t slabs;
	uint64_t cpu_slabs;
	uint64_t partial;
	uint64_t full;
	uint64_t objects;
	uint64_t total_objects;
	uint64_t objects_partial;
	size_t aliases;
	struct json_object *json; /* the cache's object, for what only one view needs */
};

struct model {
	struct json_object *document; /* the answer; names point into it */
	struct cache *caches;
	size_t count;
};

/* model_load: takes over the document. False when memory is short or the
 * document is not an answer to "stats"; told on stderr. */
bool model_load(struct model *model, struct json_object *document);
void model_free(struct model *model);

/* A member of a cache's object: a number, 0 when missing; an array or NULL. */
uint64_t model_number(struct json_object *object, const char *key);
struct json_object *model_member(struct json_object *object, const char *key);

/* model_event: how often the event of this name happened in the cache. */
uint64_t model_event(const struct cache *cache, const char *name);

/* model_alias: alias number i. */
const char *model_alias(const struct cache *cache, size_t i);

/* Bytes of one slab, of all slabs, and of those what objects in use take. */
uint64_t cache_slab_bytes(const struct cache *cache);
uint64_t cache_bytes(const struct cache *cache);
uint64_t cache_used_bytes(const struct cache *cache);

/* percent: part of whole, 0 when there is no whole. */
uint64_t percent(uint64_t part, uint64_t whole);

#endif /* SLABINFO_MODEL_H */
