/* SPDX-License-Identifier: MIT */
/* A cache of sheaves; what the files of this folder call of each other. */
#ifndef BASELINES_SHEAVES_CACHE_H
#define BASELINES_SHEAVES_CACHE_H

#include "lock.h"
#include "pages/pages.h"
#include "percpu/percpu.h"
#include "sheaves/sheaf.h"

#define BARN_MAX 10u /* full sheaves of a barn, and empty ones */

struct sheaf {
	struct sheaf *next; /* in a barn */
	size_t count, capacity;
	void *objs[];
};

/* The second sheaf of a CPU. A thread takes it away to work on it. */
struct spare {
	struct lock lock;
	struct sheaf *sheaf; /* NULL: taken, or there is none */
} __attribute__((aligned(64)));

struct barn_list {
	struct sheaf *first;
	unsigned count;
};

/* The partial list of a node, with its lock, and its barn, with another. */
struct sheaf_node {
	struct lock lock;
	struct frame_list partial;
	struct lock barn_lock __attribute__((aligned(64)));
	struct barn_list full, empty;
} __attribute__((aligned(64)));

struct sheaf_cache {
	/* Read by the fast paths. The LIFO of a CPU is its main sheaf. */
	struct percpu main;
	/* Read by the slow paths. */
	size_t capacity; /* of a sheaf */
	struct spare *spare;
	size_t size;     /* from object to object */
	size_t link;     /* offset of the freelist's pointer in a free object */
	unsigned order;
	unsigned objects; /* of a slab */
	size_t min_partial;
	void (*ctor)(void *obj, void *arg);
	void *arg;
	size_t bytes;
	struct sheaf_node node[];
};

/* --- slabs.c ---------------------------------------------------------------------------------- */

/* Choose order and number of objects for a new cache of this size. */
void sheaf_slabs_choose(struct sheaf_cache *cache);
/* Up to n objects: of partial slabs of the node if `mode` has BASELINE_PARTIAL or FULL, then of
 * fresh slabs if it has BASELINE_NEW or FULL. */
size_t sheaf_slabs_take(struct sheaf_cache *cache, unsigned node, unsigned mode, size_t n,
			void **objs);
/* Return objects to their slabs; objs[] changes. */
void sheaf_slabs_give(struct sheaf_cache *cache, size_t n, void **objs);
/* Release the empty slabs of all nodes. */
void sheaf_slabs_release_empty(struct sheaf_cache *cache);

/* --- barn.c ------------------------------------------------------------------------------------- */

/* A sheaf without objects, of the barn. NULL: the barn has none. */
struct sheaf *barn_take_empty(struct sheaf_cache *cache, unsigned node);
/* A sheaf without objects, of the barn or new. NULL: there is no memory. */
struct sheaf *barn_get_empty(struct sheaf_cache *cache, unsigned node);
/* A sheaf with objects. NULL: the barn has none. */
struct sheaf *barn_get_full(struct sheaf_cache *cache, unsigned node);
/* Put a sheaf into the barn: full ones are those with objects. false: the barn has enough of them. */
bool barn_put(struct sheaf_cache *cache, unsigned node, struct sheaf *sheaf);
/* Put a sheaf into the barn, or free it and return its objects to their slabs. */
void barn_put_or_flush(struct sheaf_cache *cache, unsigned node, struct sheaf *sheaf);
void sheaf_flush(struct sheaf_cache *cache, struct sheaf *sheaf);
struct sheaf *sheaf_new(size_t capacity);
/* Objects in the full sheaves of all barns. */
size_t barns_objects(struct sheaf_cache *cache);

#endif /* BASELINES_SHEAVES_CACHE_H */
