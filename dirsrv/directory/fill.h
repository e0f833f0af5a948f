/* SPDX-License-Identifier: MIT */
/*
 * The directory: its entries are in an entry cache that never evicts. Filling it from a
 * source and multiplying it to its working size.
 *
 * The load changes slots: entries named by something else than dc, ou, o, c or
 * l, which hold others. A slot remembers how its entry is called and which
 * record it was made of, so that an entry that was deleted can be added again
 * as it was and the directory keeps its size.
 */
#pragma once

#include "source.h"
#include "result.h"

#include <slab/dirsrv/entry_cache.h>
#include <slab/dirsrv/operation.h>

#define THREADS_MAX 64

/* The options. */
struct args {
	const char *ldif; /* NULL: the package catalogue */
	uint64_t entries; /* the directory is multiplied to this many */
	double seconds;   /* of load */
	unsigned threads; /* workers, and as many listeners */
};

/* The attribute that every entry has and that modifies replace. */
#define NOTE_TYPE "note"
#define NOTE_MIN 8
#define NOTE_MAX 200

struct slot {
	const char *dn;
	const char *name; /* the value of the first RDN, in lower case */
	uint32_t dn_length;
	uint32_t name_length;
	uint32_t record;
};

/* Names live as long as the directory: blocks that are filled and never moved. */
struct arena {
	struct arena *next;
	size_t used;
	char bytes[];
};

struct directory {
	struct dirsrv_entry_pool *pool; /* its caches are called db.entry, … */
	struct dirsrv_entry_cache *entries;
	struct dirsrv_operation_pool *operations;
	struct slot *slots;
	size_t slot_count;
	size_t slot_capacity;
	struct record *records; /* the first RECORDS_MAX of the source */
	size_t record_count;
	struct arena *names;
	uint64_t read; /* entries that the source had */
	size_t bad;    /* lines that it had wrong */
};

/* directory_read: load the source; 0, or an exit status after saying why there is nothing
 * to work with. */
int directory_read(struct directory *directory, const struct args *args);

/* directory_multiply: copies of the slots' entries until there are `entries`. */
void directory_multiply(struct directory *directory, uint64_t entries);

/* directory_free: everything; no other thread uses the directory any more. 0, or -1 after a
 * message with the cache that still holds objects. */
int directory_free(struct directory *directory);

/* directory_measure: read every byte of every entry; false when one is damaged. */
bool directory_measure(const struct directory *directory, struct directory_size *size);

/* slot_entry: a new entry of that slot, with a note of `note_length` bytes; NULL: it has a
 * name that no entry can have. */
struct dirsrv_entry *slot_entry(const struct directory *directory, const struct slot *slot,
				uint64_t id, size_t note_length);

/* note_text: NOTE_MAX bytes, of which a note has the first ones. */
extern const char note_text[];
