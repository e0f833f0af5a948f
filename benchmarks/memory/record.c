/* SPDX-License-Identifier: MIT */
/*
 * Records, their parts, and moving them.
 *
 * A part may be moved when its record is live and has no reader. The moving thread counts
 * as a mover of the record from isolate() to migrate(), so that the record stays. If a
 * reader pins the record in between, the part stays where it is. If the record is to be
 * freed in between, it becomes an orphan, which the next thread drops that takes the lock:
 * the mover itself must not free the object that it moves.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "record.h"

#define IN_MALLOC TYPES /* a part of any size */
#define ATTRS 16
#define DNS 4

struct tag {
	_Atomic uint32_t record; /* 0: none */
	_Atomic uint32_t part;
};

static unsigned char layout[RECORD_PARTS]; /* the types of the parts */
static unsigned parts;
static int photo_part = -1;

static struct record *records;
static unsigned record_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned orphans; /* linked by next */
static void **moved_from; /* strings that stand elsewhere now */
static size_t moved_strings;

void record_lock(void)
{
	pthread_mutex_lock(&lock);
}

void record_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* --- layout ----------------------------------------------------------------------------------- */

static void add_part(unsigned char type)
{
	layout[parts++] = type;
}

/* In the order in which a server builds an entry when it reads it. */
static void layout_entry(void)
{
	add_part(TYPE_BACKENTRY);
	add_part(TYPE_ENTRY);
	for (int i = 0; i < DNS; i++) {
		add_part(TYPE_DN);
		add_part(IN_MALLOC);
	}
	for (int i = 0; i < ATTRS; i++) {
		add_part(TYPE_ATTR);
		for (int values = i % 4 == 0 ? 2 : 1; values; values--) {
			add_part(TYPE_VALUE);
			add_part(IN_MALLOC);
		}
	}
	photo_part = (int)parts;
	add_part(IN_MALLOC);
}

void record_layout(enum type type)
{
	if (type == TYPES)
		layout_entry();
	else
		for (int i = 0; i < RECORD_OBJECTS; i++)
			add_part((unsigned char)type);
}

unsigned record_parts(void)
{
	return parts;
}

size_t record_photo_size(enum photo photo)
{
	static const size_t sizes[PHOTOS] = {0, 28, 3500, 1500000};

	return sizes[photo];
}

/* What ns-slapd asks malloc for, in bytes up to 256: shares in per cent, cumulative. */
size_t record_small_size(uint64_t random)
{
	static const struct {
		unsigned share, low, high;
	} buckets[] = {{43, 4, 16}, {62, 17, 32}, {77, 33, 64}, {91, 65, 128}, {100, 129, 256}};
	unsigned share = random % 100, i = 0;

	while (share >= buckets[i].share)
		i++;
	return buckets[i].low + (random >> 32) % (buckets[i].high - buckets[i].low + 1);
}

static size_t part_size(unsigned id, enum photo photo, unsigned part)
{
	if (layout[part] != IN_MALLOC)
		return types[layout[part]].size;
	if ((int)part == photo_part)
		return record_photo_size(photo);
	return record_small_size(bench_mix((uint64_t)id * RECORD_PARTS + part));
}

size_t record_bytes(unsigned id, enum photo photo)
{
	size_t bytes = 0;

	for (unsigned part = 0; part < parts; part++)
		bytes += part_size(id, photo, part);
	return bytes;
}

size_t record_live_bytes(const struct record *record)
{
	size_t bytes = 0;

	for (unsigned part = 0; part < parts; part++)
		if (record->part[part])
			bytes += part_size(record->id, record->photo, part);
	return bytes;
}

/* --- the table -------------------------------------------------------------------------------- */

void record_table(unsigned n)
{
	records = bench_map((n + 1) * sizeof(*records));
	moved_from = bench_map((size_t)n * RECORD_PARTS * sizeof(*moved_from));
	record_count = n;
}

struct record *record_at(unsigned number)
{
	return &records[number];
}

unsigned record_number(const struct record *record)
{
	return (unsigned)(record - records);
}

/* --- parts ------------------------------------------------------------------------------------ */

static void untag(void *obj)
{
	struct tag *tag = obj;

	atomic_store_explicit(&tag->record, 0, memory_order_relaxed);
}

static void *load_typed(const struct record *record, unsigned part)
{
	enum type type = layout[part];
	struct tag *tag = contestant_alloc(type);

	if (!tag)
		return NULL;
	memset(tag + 1, (int)part, types[type].size - sizeof(*tag));
	atomic_store_explicit(&tag->part, part, memory_order_relaxed);
	atomic_store_explicit(&tag->record, record_number(record), memory_order_relaxed);
	return tag;
}

static void *load_untyped(size_t size)
{
	void *ptr = contestant_malloc(size);

	if (ptr)
		bench_touch(ptr, size);
	return ptr;
}

void record_load(struct record *record, unsigned id, enum photo photo)
{
	record->id = id;
	record->photo = photo;
	for (unsigned part = 0; part < parts; part++) {
		size_t size = part_size(id, photo, part);

		if (!size)
			continue;
		record->part[part] =
			layout[part] == IN_MALLOC ? load_untyped(size) : load_typed(record, part);
		if (!record->part[part])
			bench_fail("no memory for %zu bytes", size);
	}
}

bool record_is_string(unsigned part)
{
	return part && (layout[part - 1] == TYPE_DN || layout[part - 1] == TYPE_VALUE);
}

static void free_part(struct record *record, unsigned part)
{
	void *ptr = record->part[part];

	if (!ptr)
		return;
	record->part[part] = NULL;
	if (layout[part] == IN_MALLOC) {
		contestant_mfree(ptr);
		return;
	}
	untag(ptr);
	contestant_free(layout[part], ptr);
}

void record_drop_part(struct record *record, unsigned part)
{
	free_part(record, part);
	if (part + 1 < parts && record_is_string(part + 1))
		free_part(record, part + 1);
}

void record_drop(struct record *record)
{
	for (unsigned part = 0; part < parts; part++)
		free_part(record, part);
}

/* --- moving ----------------------------------------------------------------------------------- */

/* The record of a part that may be moved now, or NULL. Called with the lock. */
static struct record *movable_record(void *obj, unsigned number, unsigned part)
{
	struct record *record = &records[number];

	if (record->state != RECORD_LIVE || record->pins || record->part[part] != obj)
		return NULL;
	return record;
}

static bool isolate(void *obj)
{
	struct tag *tag = obj; /* it may be freed at this moment, or be just allocated */
	unsigned number = atomic_load_explicit(&tag->record, memory_order_relaxed);
	unsigned part = atomic_load_explicit(&tag->part, memory_order_relaxed);
	struct record *record;

	if (!number || number > record_count || part >= parts)
		return false;
	record_lock();
	record = movable_record(obj, number, part);
	if (record)
		record->movers++;
	record_unlock();
	return record;
}

/* With the lock: a new place for the string of this part. */
static void move_string(struct record *record, unsigned string)
{
	size_t size = part_size(record->id, record->photo, string);
	void *to = contestant_malloc(size);

	if (!to)
		return;
	memcpy(to, record->part[string], size);
	moved_from[moved_strings++] = record->part[string];
	record->part[string] = to;
}

static void free_moved(void)
{
	record_lock();
	while (moved_strings)
		contestant_mfree(moved_from[--moved_strings]);
	record_unlock();
}

static bool migrate(void *from, void *to, size_t size)
{
	struct tag *tag = from; /* stays as it is: the record has a mover */
	unsigned part = tag->part;
	struct record *record = &records[tag->record];
	bool moved;

	record_lock();
	moved = movable_record(from, tag->record, part) != NULL;
	if (moved) {
		memcpy(to, from, size);
		record->part[part] = to;
		untag(from);
		if (part + 1 < parts && record_is_string(part + 1))
			move_string(record, part + 1);
	}
	if (--record->movers == 0 && record->state == RECORD_DYING && !record->pins) {
		record->next = orphans;
		orphans = record_number(record);
	}
	record_unlock();
	return moved;
}

const struct movers record_movers = {
	.isolate = isolate,
	.migrate = migrate,
	.moved = free_moved,
	.untag = untag,
};

struct record *record_orphan(void)
{
	struct record *record = NULL;

	record_lock();
	if (orphans) {
		record = &records[orphans];
		orphans = record->next;
	}
	record_unlock();
	return record;
}
