/* SPDX-License-Identifier: MIT */
/* Call sites: the tracks of objects, added up by cache and stack. The records are those of this
 * process, or copies of another one's. */
#pragma once

#include <slab/debug.h>
#include <stddef.h>
#include <stdint.h>

#include "core/debug_record.h"

struct call_sites {
	enum slab_traces kind;
	uint64_t since; /* only later operations count; 0: all */
	uint32_t cache; /* the number of the cache that is added or asked for */
	struct call_site *site;
	size_t room, used;
	size_t next; /* that call_sites_each() calls for */
	uint64_t newest; /* the latest time of a track */
};

/* call_sites_reserve: make room for this number of further call sites; those that find none are
 * left out. false: there is no memory. call_sites_end: free it. */
bool call_sites_reserve(struct call_sites *sites, unsigned more);
void call_sites_end(struct call_sites *sites);

/* call_sites_add: add the tracks of a slab with SLAB_STORE_USER, which has these records. */
void call_sites_add(struct call_sites *sites, const struct slab_debug *debug, const char *records,
		    unsigned objects, unsigned node);

/* call_sites_sort: by cache, the most objects first. Afterwards nothing can be added. */
void call_sites_sort(struct call_sites *sites);

/*
 * call_sites_each: call fn for each call site of sites->cache, which ascends from call to call,
 * until fn returns non-zero. `now` is the present time of the tracks, or 0. `frames` stores the
 * frames of a stack, and returns their number. Returns the number of calls of fn.
 */
long call_sites_each(struct call_sites *sites, uint64_t now,
		     unsigned (*frames)(const void *from, uint32_t stack, const void **frame),
		     const void *from, int (*fn)(const struct slab_call_site *site, void *arg),
		     void *arg);
