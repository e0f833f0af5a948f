/* SPDX-License-Identifier: MIT */
/*
 * States of objects. Maps are copied slab by slab. In a process that runs they change meanwhile; in a core
 * file, or a process that stands still, they are those of one moment.
 */
#include <errno.h>

#include "objects.h"
#include "core/shard.h"
#include "pages/os.h"

/* A map, and with args.rcu those of the objects that wait. */
#define MAP_WORDS (3 * SLAB_OBJECTS_MAX / 64)

/* What is read of a slab. It is mapped once for a whole scan. */
struct lists {
	uint32_t stack[SLAB_OBJECTS_MAX];
	uint64_t
		own[sizeof(struct slab) / sizeof(uint64_t) + MAP_WORDS]; /* struct slab, the maps */
	char state[SLAB_OBJECTS_MAX + 1]; /* a string */
};

struct scan {
	struct lists *lists;
	char *records;
	size_t records_room;
	struct held_list held;
	size_t matched; /* held objects that lie in slabs of the loaded caches */
	void (*fn)(struct inspection *in, struct inspect_cache *cache,
		   const struct inspect_objects *seen, void *arg);
	void *arg;
	int error;
};

/* --- reading ---------------------------------------------------------------------------- */

/* Can objects of this size and number lie in the slab? A copy may contain anything. */
static bool is_plausible(const struct inspect_slab *slab)
{
	const uint64_t size = slab->size;

	return size && size <= slab->bytes && slab->slab.objects <= slab->bytes / size &&
	       slab->slab.initialized <= slab->slab.objects &&
	       (!slab->slab.debug || !slab->tagged ||
		(slab->debug.stride >= sizeof(struct debug_object) &&
		 sizeof(struct slab_debug) +
				 (uint64_t)slab->slab.initialized * slab->debug.stride <=
			 slab->side));
}

static int read_records(struct scan *scan, const struct inspection *in,
			const struct inspect_slab *slab)
{
	const size_t bytes = (size_t)slab->slab.initialized * slab->debug.stride;

	if (bytes > scan->records_room) {
		if (scan->records_room)
			os_unmap(scan->records, scan->records_room);
		scan->records_room = os_pages(bytes);
		scan->records = os_map(scan->records_room, 1);
		if (!scan->records) {
			scan->records_room = 0;
			return -ENOMEM;
		}
	}
	return inspect_read(in, (uintptr_t)(slab->slab.debug + 1), bytes, scan->records);
}

/* --- states ------------------------------------------------------------------------------- */

/* Copy the descriptor with its maps, which belong together. */
static int read_own(const struct inspection *in, const struct inspect_cache *cache,
		    const struct inspect_slab *slab, struct lists *lists)
{
	const unsigned words = map_words(slab->slab.objects) * (cache->copy->rcu ? 3 : 1);

	return inspect_read(in, slab->descriptor, sizeof(struct slab) + words * sizeof(uint64_t),
			    lists->own);
}

static bool has(const uint64_t *map, unsigned index)
{
	return map[index / 64] >> index % 64 & 1;
}

/* A slab without records. */
static void mark_map(const struct inspect_cache *cache, struct lists *lists,
		     struct inspect_objects *seen)
{
	struct slab *slab = (struct slab *)lists->own;
	const struct slab *before = &seen->slab->slab;

	/* The slab was reused since the scan read its descriptor. */
	if (slab->objects != before->objects || slab->initialized > slab->objects)
		slab->objects = slab->initialized = before->objects;
	memset(lists->state, SEEN_ALLOCATED, slab->initialized);
	memset(lists->state + slab->initialized, SEEN_FRESH, slab->objects - slab->initialized);
	for (unsigned i = 0; i < slab->initialized; i++) {
		if (has(slab->map, i))
			lists->state[i] = SEEN_FREE;
		else if (cache->copy->rcu &&
			 (has(slab_waiting(slab, 0), i) || has(slab_waiting(slab, 1), i)))
			lists->state[i] = SEEN_WAITING;
	}
	seen->fault = slab_check_map(slab);
}

static char state_of_record(uint8_t state)
{
	switch (state) {
	case OBJECT_FREE:
		return SEEN_FREE;
	case OBJECT_WAITING:
		return SEEN_WAITING;
	case OBJECT_ALLOCATED:
		return SEEN_ALLOCATED;
	default:
		return SEEN_LOST;
	}
}

static void mark_records(struct scan *scan, const struct inspect_slab *slab)
{
	struct lists *lists = scan->lists;

	memset(lists->state, SEEN_FRESH, slab->slab.objects);
	for (unsigned i = 0; i < slab->slab.initialized; i++) {
		const char *at = scan->records + (size_t)i * slab->debug.stride;
		struct debug_object record;
		struct track track;

		memcpy(&record, at, sizeof(record));
		lists->state[i] = state_of_record(record.state);
		lists->stack[i] = 0;
		if (!(slab->debug.debug_flags & SLAB_STORE_USER) ||
		    slab->debug.stride < sizeof(record) + 2 * sizeof(track))
			continue;
		memcpy(&track, at + sizeof(record) + TRACK_ALLOC * sizeof(track), sizeof(track));
		lists->stack[i] = track.stack;
	}
}

/* --- held objects --------------------------------------------------------------------------- */

static char state_held(enum held_by by)
{
	return by == HELD_WAITING ? SEEN_WAITING : by == HELD_IN_RESERVE ? SEEN_RESERVE : SEEN_HELD;
}

static void mark_held(struct scan *scan, const struct inspection *in,
		      const struct inspect_cache *cache, struct inspect_objects *seen)
{
	const uint64_t end = seen->slab->address + seen->slab->bytes;
	const struct held_list *list = &scan->held;

	for (size_t i = inspect_held_from(list, seen->slab->address);
	     i < list->count && list->held[i].address < end; i++) {
		const struct held *held = &list->held[i];
		const uint64_t into = held->address - seen->first;
		const uint64_t index = into / seen->stride;

		scan->matched++;
		/* The record of an object of a debug slab says so, too. */
		if (seen->slab->slab.debug && held->by == HELD_WAITING)
			continue;
		if (held->address < seen->first || into % seen->stride || index >= seen->count ||
		    scan->lists->state[index] != SEEN_ALLOCATED ||
		    &in->caches[held->cache] != cache)
			seen->held_wrongly++;
		else
			scan->lists->state[index] = state_held((enum held_by)held->by);
	}
}

/* --- the scan -------------------------------------------------------------------------------- */

static int fill(struct scan *scan, const struct inspection *in, const struct inspect_cache *cache,
		struct inspect_objects *seen)
{
	const struct inspect_slab *slab = seen->slab;
	const bool has_records = slab->tagged && slab->slab.debug;
	int error =
		has_records ? read_records(scan, in, slab) : read_own(in, cache, slab, scan->lists);

	if (error)
		return error;
	if (has_records)
		mark_records(scan, slab);
	else
		mark_map(cache, scan->lists, seen);
	return 0;
}

static void see_slab(struct inspection *in, struct inspect_cache *cache,
		     const struct inspect_slab *slab, void *arg)
{
	struct scan *scan = arg;
	const bool has_records = slab->tagged && slab->slab.debug;
	struct inspect_objects seen = {
		.slab = slab,
		.first = slab->address + (has_records ? slab->debug.red_left : 0),
		.stride = slab->size,
		.state = scan->lists->state,
	};

	if (scan->error)
		return;
	if (!is_plausible(slab)) {
		scan->fn(in, cache, &seen, scan->arg);
		return;
	}
	seen.count = slab->slab.objects;
	scan->error = fill(scan, in, cache, &seen);
	scan->lists->state[seen.count] = '\0';
	if (scan->error)
		return;
	if (has_records)
		seen.records = scan->records;
	if (has_records && slab->debug.debug_flags & SLAB_STORE_USER)
		seen.stack = scan->lists->stack;
	mark_held(scan, in, cache, &seen);
	scan->fn(in, cache, &seen, scan->arg);
}

int inspect_each_objects(struct inspection *in,
			 void (*fn)(struct inspection *in, struct inspect_cache *cache,
				    const struct inspect_objects *seen, void *arg),
			 void *arg, size_t *ret_strays)
{
	struct scan scan = {.fn = fn, .arg = arg};
	int error;

	scan.lists = os_map(sizeof(*scan.lists), 1);
	if (!scan.lists)
		return -ENOMEM;
	error = inspect_held(in, &scan.held);
	if (!error)
		error = inspect_each_slab(in, see_slab, &scan);
	if (!error)
		error = scan.error;
	*ret_strays = scan.held.count - scan.matched;
	if (scan.records_room)
		os_unmap(scan.records, scan.records_room);
	inspect_held_free(&scan.held);
	os_unmap(scan.lists, sizeof(*scan.lists));
	return error;
}
