/* SPDX-License-Identifier: MIT */
/* Call sites: the tracks of objects, added up by stack. The records are those of this process, or
 * copies of another one's. */
#pragma once

#include <slab/debug.h>
#include <stddef.h>
#include <stdint.h>

#include "core/debug_record.h"

struct call_sites {
	enum slab_traces kind;
	uint64_t since; /* only later operations count; 0: all */
	struct call_site *site;
	size_t room, used;
	uint64_t newest; /* the latest time of a track */
};

/* call_sites_begin: make room for the stacks of a depot that has this number of them. false: there
 * is no memory. call_sites_end: free it. */
bool call_sites_begin(struct call_sites *sites, unsigned stacks);
void call_sites_end(struct call_sites *sites);

/* call_sites_add: add the tracks of a slab with SLAB_STORE_USER, which has these records. */
void call_sites_add(struct call_sites *sites, const struct slab_debug *debug, const char *records,
		    unsigned objects, unsigned node);

/*
 * call_sites_each: call fn for each call site, the most objects first, until fn returns non-zero.
 * `now` is the present time of the tracks, or 0. `frames` stores the frames of a stack, and returns
 * their number. Returns the number of calls of fn. Afterwards nothing can be added.
 */
long call_sites_each(struct call_sites *sites, uint64_t now,
		     unsigned (*frames)(const void *from, uint32_t stack, const void **frame),
		     const void *from, int (*fn)(const struct slab_call_site *site, void *arg),
		     void *arg);
