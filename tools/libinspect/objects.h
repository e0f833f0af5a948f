/* SPDX-License-Identifier: MIT */
/*
 * The objects of slabs and their states, from the map of a slab, the records of a debug slab, and
 * the list of free objects that lie beside their slabs.
 */
#pragma once

#include "process.h"

enum held_by {
	HELD_BY_CPU, /* in its array */
	HELD_IN_MAGAZINE,
	HELD_WAITING, /* for a grace period */
	HELD_IN_RESERVE,
};

struct held {
	uint64_t address;
	uint32_t cache; /* the number of the loaded cache that holds it */
	uint32_t by;    /* enum held_by */
};

struct held_list {
	struct held *held; /* ordered by address */
	size_t count, room;
};

/* inspect_held: find the held objects of the loaded caches, and count them in `strays`. Returns 0,
 * -EFAULT or -ENOMEM. The caller calls inspect_held_free() in any case. */
int inspect_held(const struct inspection *in, struct held_list *list);
void inspect_held_free(struct held_list *list);

/* inspect_held_from: the number of the first one at or behind an address. */
size_t inspect_held_from(const struct held_list *list, uint64_t address);

/* States of objects, which are also characters in answers. */
enum object_seen {
	SEEN_ALLOCATED = 'a', /* the program has it */
	SEEN_FREE = 'f', /* its slab has it as free */
	SEEN_HELD = 'h', /* free: a CPU or a magazine holds it */
	SEEN_WAITING = 'w', /* freed by the program, waits for a grace period */
	SEEN_RESERVE = 'r', /* in the reserve of its cache */
	SEEN_LOST = 'l', /* damaged, never allocated again */
	SEEN_FRESH = '-', /* never in use so far */
};

#define SLAB_OBJECTS_MAX 65536u

/* The objects of one slab. */
struct inspect_objects {
	const struct inspect_slab *slab;
	uint64_t first, stride; /* addresses of the objects */
	unsigned count;
	const char *state; /* of each object; a string */
	const uint32_t *stack; /* ids of the stacks that allocated them; NULL: not recorded */
	const char *records; /* debug slabs: struct debug_object and what follows it */
	const char *fault; /* of the map; NULL: none (slab_check_map()) */
	unsigned held_wrongly; /* held objects that are free, or twice */
};

/* inspect_each_objects: call fn for the objects of each slab of the loaded caches. Returns 0,
 * -EFAULT or -ENOMEM. In `strays` of a cache remain the held objects that lie in no slab of it. */
int inspect_each_objects(struct inspection *in,
			 void (*fn)(struct inspection *in, struct inspect_cache *cache,
				    const struct inspect_objects *seen, void *arg),
			 void *arg);
