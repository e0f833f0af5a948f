/* SPDX-License-Identifier: MIT */
/*
 * Records: the benchmark's data in the contestant's memory.
 *
 * A record is like one entry of a directory server: structs, from caches if the contestant
 * has them, and their strings and values; or RECORD_OBJECTS objects of one size. All
 * pointers to its parts are in one array, outside of the allocator's memory. A part of fixed
 * size begins with a tag that names its record and part, so that it can be moved.
 */
#pragma once

#include "bench.h"

#define RECORD_PARTS 68
#define RECORD_OBJECTS 64

enum record_state {
	RECORD_FREE,
	RECORD_LOADING, /* one thread's alone */
	RECORD_LIVE,
	RECORD_DYING,   /* its last reader or mover frees it */
};

/* The value that differs: the seed's three pictures. */
enum photo { PHOTO_NONE, PHOTO_28, PHOTO_3500, PHOTO_1500000, PHOTOS };

struct record {
	unsigned id;
	unsigned next, prev; /* in the cache's lists: numbers of records, 0: none */
	unsigned char state;
	unsigned char photo;
	unsigned short pins;   /* readers */
	unsigned short movers; /* parts that are being moved */
	void *part[RECORD_PARTS];
};

/* record_layout: what a record consists of: TYPES: an entry, or objects of one type. */
void record_layout(enum type type);
/* record_parts: how many parts a record of this layout has at most. */
unsigned record_parts(void);
/* record_bytes: the bytes that a record with this id and photo asks for. */
size_t record_bytes(unsigned id, enum photo photo);
/* record_live_bytes: the bytes that the parts asked for that are there. */
size_t record_live_bytes(const struct record *record);
/* record_table: make room for records 1 to n. */
void record_table(unsigned n);
struct record *record_at(unsigned number);
unsigned record_number(const struct record *record);

/* record_load: allocate all parts. record_drop: free those that are left. */
void record_load(struct record *record, unsigned id, enum photo photo);
void record_drop(struct record *record);
/*
 * record_drop_part: free one part, if it is there, and the string that belongs to it.
 * record_is_string: this part belongs to the one before it.
 */
void record_drop_part(struct record *record, unsigned part);
bool record_is_string(unsigned part);
/* record_small_size: a size as a directory server's strings have. */
size_t record_small_size(uint64_t random);
size_t record_photo_size(enum photo photo);

/* The lock of all records' states, pins and, while they are live, parts. */
void record_lock(void);
void record_unlock(void);

/* For contestant_begin(). The string of a part moves too: it is allocated anew, and the old
 * one freed by moved(), when all have moved: allocators like to give back what was freed
 * last, which would leave it where it was. */
extern const struct movers record_movers;
/* record_orphan: a record that died while its parts were being moved, to be dropped; NULL. */
struct record *record_orphan(void);
