/* SPDX-License-Identifier: MIT */
/*
 * The heap profile of a process, from its answer to "profile": estimates for each call site, and
 * the places in the program that the stacks lead through.
 */
#pragma once

#include "options.h"
#include "attach.h"
#include "memory.h"

/* A function, and where it calls the next one. */
struct heap_call {
	char *function;
	char *file; /* NULL: not known */
	long line;
};

/* An address of stacks. */
struct heap_place {
	uint64_t address; /* of the call, not the return address */
	const char *object; /* the file, printable; "": none */
	uint64_t offset;  /* in the file */
	struct heap_call *call; /* inlined code, innermost first, and the function that has it */
	size_t calls;           /* 0: no function is known there */
	bool is_mapped;
	struct memory_mapped mapped; /* the file, if it is mapped from one */
};

/* Samples of objects of one size with one stack. */
struct heap_site {
	const size_t *place; /* numbers of places, the caller of libslab first */
	size_t frames;
	uint64_t size;
	const char *type; /* "": unknown */
	uint64_t samples; /* that were allocated */
	/* Estimates; in use: now, or at the peak. */
	double alloc_objects, alloc_bytes, inuse_objects, inuse_bytes;
	double now_bytes, freed_objects;
	struct json_object *json;
};

struct heap {
	struct json_object *answer;
	const struct memory *maps; /* mapped files; NULL: they could not be read */
	struct memory *own_maps; /* the same, if they were opened for this */
	uint64_t period, missed;
	struct heap_site *site;
	size_t sites;
	struct heap_place *place;
	size_t places;
	size_t *frame; /* of all sites */
	size_t *index; /* hash table of places: number + 1; a power of two entries */
	size_t index_room;
	double inuse_bytes, alloc_bytes, now_bytes;
	uint64_t samples;
	enum heap_part part;
};

/* heap_load: the profile of a process, or its waste as what is in use. Returns EXIT_DONE; or
 * another exit status after an error message: the process did not answer, or has no samples. The
 * caller frees the heap in any case. */
int heap_load(struct heap *heap, struct process *process, enum heap_part part);
void heap_free(struct heap *heap);

/* heap_place_text: a name for a place: the function, or the file and the offset in it. */
#define HEAP_TEXT 256
const char *heap_place_text(const struct heap_place *place, char text[HEAP_TEXT]);
