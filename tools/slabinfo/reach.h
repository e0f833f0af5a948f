/* SPDX-License-Identifier: MIT */
/*
 * Reachability: which allocated objects a process can still find. The search begins with all words
 * of its registers, stacks, data segments and anonymous memory; every word that is an address in an
 * object reaches it, and so do the words of objects that were reached.
 */
#pragma once

#include "memory.h"

#include <json-c/json.h>

#define REACH_LARGE UINT32_MAX /* number of the cache of large allocations */

/* The objects of one slab, or one large allocation. */
struct reach_slab {
	uint64_t first, end; /* from the first object to behind the last one */
	uint64_t stride, size;
	uint32_t count, cache;
	size_t mark;         /* index of the first object's mark */
	const char *states;
	struct json_object *stacks; /* ids; NULL: not recorded */
};

/* An object that nothing reaches but perhaps itself; and what only it reaches. */
struct reach_leak {
	uint64_t address, size;
	uint32_t cache, stack;
	uint64_t held, held_bytes;
};

struct reach {
	struct memory *memory;
	struct json_object *objects, *regions; /* the answers */
	struct reach_slab *slab;               /* ordered by address */
	size_t slabs, slab_room;
	uint32_t *unit; /* hash table: number + 1 of the slab of a unit of addresses */
	size_t units;   /* entries: a power of two */
	uint64_t lowest, highest;
	uint8_t *mark;
	struct reach_at *work; /* objects to be searched */
	size_t todo;
	char *buffer;
	size_t count; /* objects in all states */
	/* Results. */
	uint64_t allocated, bytes, root_bytes;
	struct reach_leak *leak;
	size_t leaks, leak_room;
	void (*progress)(const char *what, uint64_t done, uint64_t all); /* may be NULL */
};

/* reach_load: take over the answers to "objects" and "regions", and prepare the search. false:
 * there is no memory, or the answers are damaged; reported by fail(). reach_free() is called in any
 * case. */
bool reach_load(struct reach *reach, struct memory *memory, struct json_object *objects,
		struct json_object *regions);
void reach_free(struct reach *reach);

/* reach_search: find the leaks. false after an error message. */
bool reach_search(struct reach *reach);

/* --- between reach.c and reach_load.c ----------------------------------------------------- */

#define REACH_UNIT_SHIFT 14u
#define REACH_BUFFER ((size_t)256 << 10)

struct reach_at {
	uint32_t slab, index;
};

/* The entry of a unit in the hash table, or the free one where it belongs. */
static inline uint32_t *reach_entry(const struct reach *reach, uint64_t address)
{
	const uint64_t unit = address >> REACH_UNIT_SHIFT;
	size_t i = (unit * UINT64_C(0x9e3779b97f4a7c15)) >> 20 & (reach->units - 1);

	while (reach->unit[i]) {
		const struct reach_slab *slab = &reach->slab[reach->unit[i] - 1];

		if (unit >= slab->first >> REACH_UNIT_SHIFT &&
		    unit <= (slab->end - 1) >> REACH_UNIT_SHIFT)
			break;
		i = (i + 1) & (reach->units - 1);
	}
	return &reach->unit[i];
}

struct root_visitor {
	void (*words)(const uint64_t *words, size_t count, void *arg); /* registers */
	void (*range)(uint64_t start, uint64_t end, void *arg);
	void *arg;
};

/* roots_visit: call the visitor for all roots; `regions` is the answer to "regions". false after an
 * error message. */
bool roots_visit(struct memory *memory, struct json_object *regions,
		 const struct root_visitor *visitor);
