/* SPDX-License-Identifier: MIT */
/*
 * The records' lock protects the whole cache; parts are allocated and freed without it.
 * A record that leaves the cache is dying: it is dropped at once when no thread reads or
 * moves it, otherwise by its last reader, or as an orphan (record.c).
 */
#include "cache.h"

#define SPARE 64 /* records of one thread that are being loaded or dying */

static unsigned *by_id;          /* number of the live record */
static unsigned newest, oldest; /* list of the live ones, by prev and next */
static unsigned unused;         /* list of free records, by next */
static size_t used, limit;

static size_t bytes_of(const struct record *record)
{
	return record_bytes(record->id, record->photo);
}

void cache_begin(unsigned ids, size_t budget, unsigned threads)
{
	unsigned n = ids + threads * SPARE;

	record_table(n);
	by_id = bench_map(ids * sizeof(*by_id));
	for (; n; n--) {
		record_at(n)->next = unused;
		unused = n;
	}
	limit = budget;
}

/* --- the list; called with the lock --- */

static void list_add(struct record *record)
{
	record->prev = 0;
	record->next = newest;
	if (newest)
		record_at(newest)->prev = record_number(record);
	else
		oldest = record_number(record);
	newest = record_number(record);
}

static void list_del(struct record *record)
{
	if (record->prev)
		record_at(record->prev)->next = record->next;
	else
		newest = record->next;
	if (record->next)
		record_at(record->next)->prev = record->prev;
	else
		oldest = record->prev;
}

/* --- records come and go ------------------------------------------------------------------- */

static struct record *take_unused(void)
{
	struct record *record;

	record_lock();
	if (!unused)
		bench_fail("no record is free");
	record = record_at(unused);
	unused = record->next;
	record->state = RECORD_LOADING;
	record_unlock();
	return record;
}

/* No other thread has a pointer to the record. */
static void recycle(struct record *record)
{
	record_drop(record);
	record_lock();
	record->state = RECORD_FREE;
	record->next = unused;
	unused = record_number(record);
	record_unlock();
}

/* With the lock: the record leaves the cache. True: the caller has it last. */
static bool leave(struct record *record)
{
	list_del(record);
	by_id[record->id] = 0;
	used -= bytes_of(record);
	record->state = RECORD_DYING;
	return !record->pins && !record->movers;
}

/* With the lock: the record becomes the one of its id. */
static void enter(struct record *record)
{
	record->state = RECORD_LIVE;
	by_id[record->id] = record_number(record);
	used += bytes_of(record);
	list_add(record);
}

/* Evict until the budget is kept. */
static void evict(void)
{
	for (;;) {
		struct record *victim = NULL;
		bool last = false;

		record_lock();
		if (used > limit) {
			victim = record_at(oldest);
			last = leave(victim);
		}
		record_unlock();
		if (!victim)
			return;
		if (last)
			recycle(victim);
	}
}

static void drop_orphans(void)
{
	for (struct record *record; (record = record_orphan());)
		recycle(record);
}

/* --- what servers do -------------------------------------------------------------------------- */

static struct record *pin(unsigned id)
{
	struct record *record = NULL;

	record_lock();
	if (by_id[id]) {
		record = record_at(by_id[id]);
		record->pins++;
		list_del(record);
		list_add(record);
	}
	record_unlock();
	return record;
}

struct record *cache_get(unsigned id, enum photo photo)
{
	struct record *loaded, *record = pin(id);

	if (record)
		return record;
	drop_orphans();
	loaded = take_unused();
	record_load(loaded, id, photo);
	record_lock();
	if (!by_id[id])
		enter(loaded);
	record = record_at(by_id[id]);
	record->pins++;
	record_unlock();
	if (record != loaded) /* another thread was faster */
		recycle(loaded);
	evict();
	return record;
}

void cache_put(struct record *record)
{
	bool last;

	record_lock();
	last = --record->pins == 0 && record->state == RECORD_DYING && !record->movers;
	record_unlock();
	if (last)
		recycle(record);
}

void cache_remove(unsigned id)
{
	struct record *record = NULL;
	bool last = false;

	record_lock();
	if (by_id[id]) {
		record = record_at(by_id[id]);
		last = leave(record);
	}
	record_unlock();
	if (last)
		recycle(record);
}

void cache_replace(unsigned id, enum photo photo)
{
	struct record *old = NULL, *record = take_unused();
	bool last = false;

	drop_orphans();
	record_load(record, id, photo);
	record_lock();
	if (by_id[id]) {
		old = record_at(by_id[id]);
		last = leave(old);
	}
	enter(record);
	record_unlock();
	if (last)
		recycle(old);
	evict();
}
