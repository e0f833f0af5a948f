/* SPDX-License-Identifier: MIT */
/*
 * Filling the directory from a source and multiplying it to its working size.
 *
 * The load changes slots: entries named by something else than dc, ou, o, c or
 * l, which hold others. A slot remembers how its entry is called and which
 * record it was made of, so that an entry that was deleted can be added again
 * as it was and the directory keeps its size.
 */
#ifndef DIRECTORY_FILL_H
#define DIRECTORY_FILL_H

#include "args.h"
#include "tree.h"

struct slot {
	const char *dn;
	const char *name; /* lower case, as tree_by_name() looks for it */
	uint32_t dn_length;
	uint32_t name_length;
	uint32_t record;
};

struct arena;

struct directory {
	struct tree *tree;
	struct slot *slots;
	size_t slot_count;
	size_t slot_capacity;
	struct record *records; /* the first RECORDS_MAX of the source */
	size_t record_count;
	struct arena *names;
	uint64_t read; /* entries that the source had */
	size_t bad;    /* lines that it had wrong */
};

/* directory_read: load the source; 0, or -1 after saying why there is nothing to
 * work with. */
int directory_read(struct directory *directory, const struct args *args);

/* directory_multiply: copies of the slots' entries until there are `entries`. */
void directory_multiply(struct directory *directory, uint64_t entries);

/* directory_free: the tree, its entries and everything else. */
void directory_free(struct directory *directory);

/* slot_entry: a new entry of that slot, with a note of `note_length` bytes. */
struct entry *slot_entry(const struct directory *directory, const struct slot *slot, uint64_t id,
			 size_t note_length);

/* note_make: the attribute that modifies replace, filled with some text. */
struct attribute *note_make(uint64_t id, size_t length);

#define NOTE_MIN 8
#define NOTE_MAX 200

#endif /* DIRECTORY_FILL_H */
