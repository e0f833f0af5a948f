/* SPDX-License-Identifier: MIT */
/*
 * States of objects. Freelists are copied slab by slab. In a process that runs they change meanwhile;
 * in a core file, or a process that stands still, they are those of one moment.
 */
#include <errno.h>
#include <slab/slab.h>
#include <string.h>

#include "inspect/objects.h"
#include "core/debug_record.h"
#include "pages/os.h"
#include "report/track.h"

#define STACK_BYTES (CPU_SLAB_STACK - CPU_SLAB_FREELIST + SLAB_OBJECTS_MAX * sizeof(uint16_t))

/* What is read of a slab. It is mapped once for a whole scan. */
struct lists {
	uint32_t stack[SLAB_OBJECTS_MAX];
	uint16_t links[SLAB_OBJECTS_MAX];
	char own[STACK_BYTES]; /* from CPU_SLAB_FREELIST on */
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
	const uint64_t size = (uint64_t)slab->slab.cpu.size8 * 8;

	return size && size <= slab->bytes && slab->slab.objects <= slab->bytes / size &&
	       slab->slab.initialized <= slab->slab.objects &&
	       (!slab->slab.debug || !slab->tagged ||
		(slab->debug.stride >= sizeof(struct debug_object) &&
		 sizeof(struct slab_debug) +
				 (uint64_t)slab->slab.initialized * slab->debug.stride <=
			 slab->side));
}

static int read_own(const struct inspection *in, const struct inspect_slab *slab,
		    struct lists *lists)
{
	const size_t bytes =
		CPU_SLAB_STACK - CPU_SLAB_FREELIST + slab->slab.objects * sizeof(uint16_t);

	return inspect_read(in, slab->descriptor + CPU_SLAB_FREELIST, bytes, lists->own);
}

static uint16_t own_entry(const struct lists *lists, unsigned i)
{
	uint16_t entry;

	memcpy(&entry, lists->own + CPU_SLAB_STACK - CPU_SLAB_FREELIST + (size_t)i * sizeof(entry),
	       sizeof(entry));
	return entry;
}

static bool reads_links(const struct slab *slab)
{
	return REMOTE_FIRST(slab->remote) || slab->waiting[0] || slab->waiting[1];
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

/* --- freelists ---------------------------------------------------------------------------- */

static void mark(struct lists *lists, const struct slab *slab, struct list_faults *faults,
		 unsigned index, enum object_seen as)
{
	if (index >= slab->initialized || lists->state[index] != SEEN_ALLOCATED)
		faults->entries++;
	else
		lists->state[index] = (char)as;
}

static void mark_stack(struct lists *lists, const struct slab *slab, struct list_faults *faults)
{
	const uint32_t height = (uint32_t)slab->freelist.local;

	if (height > slab->initialized) {
		faults->counts++;
		return;
	}
	for (uint32_t i = 0; i < height; i++) {
		const uint16_t offset8 = own_entry(lists, i);

		mark(lists, slab, faults,
		     offset8 % slab->cpu.size8 ? UINT16_MAX + 1u : offset8 / slab->cpu.size8,
		     SEEN_FREE);
	}
}

/* A chain of indices + 1, in the links beside the slab or, with `own`, those of its freelist. A chain
 * that is damaged ends at the first wrong entry. */
static void mark_chain(struct lists *lists, const struct slab *slab, struct list_faults *faults,
		       unsigned first, unsigned count, bool own, enum object_seen as)
{
	const unsigned before = faults->entries;

	for (; first && count && faults->entries == before; count--) {
		const unsigned index = first - 1;

		mark(lists, slab, faults, index, as);
		if (index < slab->objects)
			first = own ? own_entry(lists, index) : lists->links[index];
	}
	if (faults->entries == before && (count || first) && as == SEEN_FREE)
		faults->counts++;
}

static void mark_remote(struct lists *lists, const struct slab *slab, struct list_faults *faults)
{
	mark_chain(lists, slab, faults, REMOTE_FIRST(slab->remote), REMOTE_COUNT(slab->remote),
		   false, SEEN_FREE);
	for (unsigned i = 0; i < 2; i++)
		mark_chain(lists, slab, faults, slab->waiting[i] & 0xffff,
			   (unsigned)(slab->waiting[i] >> 32), false, SEEN_WAITING);
}

/* A slab without debug flags. */
static void mark_plain(const struct inspection *in, struct lists *lists, const struct slab *slab,
		       struct list_faults *faults)
{
	if (in->links)
		mark_chain(lists, slab, faults, slab->freelist.local & 0xffff,
			   slab->freelist.local >> 16 & 0xffff, true, SEEN_FREE);
	else
		mark_stack(lists, slab, faults);
	mark_remote(lists, slab, faults);
}

/* A legacy slab without debug flags: states in place of the freelist. */
static void mark_legacy(struct lists *lists, const struct slab *slab, struct list_faults *faults)
{
	for (unsigned i = 0; i < slab->initialized; i++)
		if (own_entry(lists, i) == LEGACY_FREE)
			lists->state[i] = SEEN_FREE;
	mark_remote(lists, slab, faults);
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
			seen->faults.held++;
		else
			scan->lists->state[index] = state_held((enum held_by)held->by);
	}
}

/* --- the scan -------------------------------------------------------------------------------- */

static int fill(struct scan *scan, const struct inspection *in, const struct inspect_slab *slab,
		struct inspect_objects *seen)
{
	struct lists *lists = scan->lists;
	const bool has_records = slab->tagged && slab->slab.debug;
	int error = has_records ? read_records(scan, in, slab) : read_own(in, slab, lists);

	if (!error && reads_links(&slab->slab))
		error = inspect_read(in, (uintptr_t)slab->slab.links,
				     slab->slab.objects * sizeof(uint16_t), lists->links);
	if (error)
		return error;
	memset(lists->state, SEEN_ALLOCATED, slab->slab.initialized);
	memset(lists->state + slab->slab.initialized, SEEN_FRESH,
	       slab->slab.objects - slab->slab.initialized);
	if (has_records)
		mark_records(scan, slab);
	else if (slab->tagged)
		mark_legacy(lists, &slab->slab, &seen->faults);
	else
		mark_plain(in, lists, &slab->slab, &seen->faults);
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
		.stride = (uint64_t)slab->slab.cpu.size8 * 8,
		.state = scan->lists->state,
	};

	if (scan->error)
		return;
	if (!is_plausible(slab)) {
		seen.faults.counts++;
		scan->fn(in, cache, &seen, scan->arg);
		return;
	}
	seen.count = slab->slab.objects;
	scan->error = fill(scan, in, slab, &seen);
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
