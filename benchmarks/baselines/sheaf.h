/* SPDX-License-Identifier: MIT */
/* A cache of sheaves, and what sheaf.c calls of its slabs. */
#pragma once

#include "lock.h"
#include "pages.h"
#include "percpu.h"

#define SHEAF_MAX 60u

struct sheaf {
	struct sheaf *next; /* in a barn */
	size_t count;
	void *objs[SHEAF_MAX];
};

struct barn_list {
	struct sheaf *first;
	unsigned count;
};

struct spare {
	struct lock lock;
	struct sheaf *sheaf; /* NULL: a thread works on it, or there is none */
} __attribute__((aligned(64)));

struct sheaf_cache {
	struct percpu main; /* read by the fast paths */
	size_t capacity;    /* of a sheaf */
	size_t size;        /* from object to object */
	size_t link;        /* offset of the chain's pointer in a free object */
	unsigned order, objects, min_partial;
	size_t bytes;
	struct lock lock __attribute__((aligned(64)));
	struct frame_list partial;
	struct lock barn_lock __attribute__((aligned(64)));
	struct barn_list full, empty;
	struct spare spare[]; /* of each CPU */
};

/* Choose the order of slabs and the number of their objects for a new cache of this size. */
void sheaf_slabs_choose(struct sheaf_cache *cache);
/* Up to n objects, of partial slabs and then of fresh ones. */
size_t sheaf_slabs_take(struct sheaf_cache *cache, size_t n, void **objs);
/* Return objects to their slabs; objs[] changes. */
void sheaf_slabs_give(struct sheaf_cache *cache, size_t n, void **objs);
/* Release all empty slabs. */
void sheaf_slabs_release_empty(struct sheaf_cache *cache);
