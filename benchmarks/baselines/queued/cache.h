/* SPDX-License-Identifier: MIT */
/* A cache of SLAB, its nodes and their queues; what the files of this folder call of each other. */
#ifndef BASELINES_QUEUED_CACHE_H
#define BASELINES_QUEUED_CACHE_H

#include "lock.h"
#include "pages/pages.h"
#include "percpu/percpu.h"
#include "queued/queued.h"

#define SHARED_MAX 480u /* eight batches of the largest size */
#define ALIEN_MAX 12u

/* Free objects of another node, which CPUs of this node have freed. */
struct alien {
	struct lock lock;
	unsigned count;
	void *objs[ALIEN_MAX];
};

struct queued_node {
	/* Protects all members but `alien`, and the slabs of the node. */
	struct lock lock;
	bool is_used; /* since the last pass of the reaper */
	struct frame_list partial, full, empty;
	size_t free_objects; /* in slabs */
	unsigned colour_next;
	unsigned shared_count;
	void *shared[SHARED_MAX];
	struct alien alien[PAGES_MAX_NODES];
} __attribute__((aligned(64)));

struct queued_cache {
	/* Read by the fast paths. */
	struct percpu cpu;
	/* Read by the slow paths. */
	size_t size; /* from object to object */
	uint64_t reciprocal;
	unsigned batch;
	unsigned shared_limit;
	unsigned order;
	unsigned objects; /* of a slab */
	unsigned colours;
	size_t colour_unit, align;
	bool is_index_outside; /* the freelist is not in the slab */
	bool is_index_short; /* its entries have two bytes */
	void (*ctor)(void *obj, void *arg);
	void *arg;
	size_t bytes;
	size_t free_limit; /* free objects of a node above which empty slabs are released */
	size_t *seen; /* of each CPU: the length of its queue in the last pass */
	struct queued_cache *next; /* of all caches, for the reaper */
	struct queued_node node[];
};

/* --- slabs.c: under the node's lock, but slab_make() and slab_release() ----------------------- */

/* Choose order, number of objects and colours for the size and alignment of a new cache. */
void slab_choose(struct queued_cache *cache);
/* A slab of fresh memory on no list. NULL and ENOMEM. */
struct frame *slab_make(struct queued_cache *cache, unsigned node);
void slab_release(struct queued_cache *cache, struct frame *slab);
/* Take up to n objects out of one slab. */
size_t slab_take(struct queued_cache *cache, struct frame *slab, size_t n, void **objs);
/* Put a slab on the list where its objects in use belong. */
void slab_list(struct queued_cache *cache, struct queued_node *node, struct frame *slab);
/* Take up to n objects out of listed slabs. */
size_t slabs_take(struct queued_cache *cache, struct queued_node *node, size_t n, void **objs,
		  bool only_partial);
/* Return objects to their slabs, which are of this node. */
void slabs_give(struct queued_cache *cache, struct queued_node *node, size_t n, void *const *objs);
/* Take up to n empty slabs off the lists. slabs_release() takes them. */
struct frame *slabs_take_empty(struct queued_cache *cache, struct queued_node *node, size_t n);
void slabs_release(struct queued_cache *cache, struct frame *slabs);

/* --- node.c: they take the locks ---------------------------------------------------------------- */

/* Up to n objects of a node: of its shared queue, of its slabs, of a fresh slab. */
size_t node_take(struct queued_cache *cache, unsigned node, unsigned mode, size_t n, void **objs);
/* Objects into the shared queues of their nodes, and what does not fit into their slabs. */
void node_give(struct queued_cache *cache, size_t n, void *const *objs);
/* An object of another node, which this node's alien queue takes. */
void node_give_alien(struct queued_cache *cache, unsigned node, unsigned other, void *obj);
/* Empty a part of the queues of a node; all of them and all empty slabs if `all`. */
void node_drain(struct queued_cache *cache, unsigned node, bool all);

#endif /* BASELINES_QUEUED_CACHE_H */
