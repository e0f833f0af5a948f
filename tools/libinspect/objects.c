/* SPDX-License-Identifier: MIT */
/*
 * States of objects. Maps are copied slab by slab. In a process that runs they change meanwhile; in
 * a core file, or a process that stands still, they are those of one moment.
 */
#include "objects.h"
#include "core/shard.h"
#include "pages/os.h"

#include <errno.h>

/* --- free objects that lie beside their slabs, in one sorted list ----------------------------- */

#define ROOM_FIRST ((size_t)4096)
#define OBJECTS_AT_ONCE 64u

static size_t bytes_of(size_t room)
{
	return room * sizeof(struct held);
}

static bool grow(struct held_list *list)
{
	const size_t room = list->room ? list->room * 2 : ROOM_FIRST;
	struct held *larger = os_map(bytes_of(room), 1);

	if (!larger)
		return false;
	if (list->room) {
		memcpy(larger, list->held, bytes_of(list->count));
		os_unmap(list->held, bytes_of(list->room));
	}
	list->held = larger;
	list->room = room;
	return true;
}

static int add(const struct inspection *in, struct held_list *list, size_t cache, enum held_by by,
	       uint64_t address)
{
	if (list->count == list->room && !grow(list))
		return -ENOMEM;
	list->held[list->count++] = (struct held){address, (uint32_t)cache, by};
	in->caches[cache].strays++;
	return 0;
}

/* The objects whose addresses stand in the process, `stride` bytes apart. */
static int add_objects(const struct inspection *in, struct held_list *list, size_t cache,
		       enum held_by by, uint64_t at, size_t stride, size_t n)
{
	void *obj[OBJECTS_AT_ONCE];
	int error = 0;

	for (size_t done = 0; done < n && !error; done += OBJECTS_AT_ONCE) {
		const size_t left = n - done,
			     part = left < OBJECTS_AT_ONCE ? left : OBJECTS_AT_ONCE;

		error = inspect_read_pieces(in, at + done * stride, sizeof(obj[0]), stride, part,
					    obj);
		for (size_t i = 0; i < part && !error; i++)
			error = add(in, list, cache, by, (uintptr_t)obj[i]);
	}
	return error;
}

static int add_array(const struct inspection *in, struct held_list *list, size_t cache,
		     const char *arrays, unsigned cpu, enum held_by by)
{
	const uint64_t at = inspect_array_row(arrays, cpu);
	uint64_t count;
	int error = inspect_read(in, at + CPU_ARRAY_COUNT, sizeof(count), &count);
	size_t n = error ? 0 : inspect_array_count(in, count);

	if (!n)
		return error;
	if (!in->pairs)
		return add_objects(in, list, cache, by, at + CPU_ARRAY_HEAD, sizeof(void *), n);
	/* The newest object lies beside the number. */
	error = add(in, list, cache, by, count << 16 >> 16);
	return error ? error
		     : add_objects(in, list, cache, by, at + CPU_ARRAY_HEAD, 2 * sizeof(void *),
				   n - 1);
}

static int add_cpus(const struct inspection *in, struct held_list *list, size_t i)
{
	const struct slab_cache *cache = in->caches[i].copy;
	int error = 0;

	for (unsigned cpu = 0; cpu < in->cpus && !error; cpu++) {
		error = add_array(in, list, i, cache->own_arrays, cpu, HELD_BY_CPU);
		if (!error && cache->rcu)
			error = add_array(in, list, i, cache->rcu_arrays, cpu, HELD_WAITING);
	}
	return error;
}

static int add_magazine(const struct inspection *in, struct held_list *list, size_t i,
			const struct magazine *magazine)
{
	const uint64_t at = (uintptr_t)magazine;
	uint64_t count;
	int error = inspect_read(in, at, sizeof(count), &count);

	if (error || count > MAGAZINE_OBJECTS)
		return error;
	return add_objects(in, list, i, HELD_IN_MAGAZINE, at + offsetof(struct magazine, obj),
			   sizeof(void *), count);
}

static int add_magazines(const struct inspection *in, struct held_list *list, size_t i)
{
	struct cache_node node;
	int error = 0;

	for (unsigned n = 0; n < in->process.nodes && !error; n++) {
		error = inspect_node(in, &in->caches[i], n, &node);
		/* Another thread may be making a cache in this handle. */
		for (unsigned m = 0; !error && m < node.depot.full && m < MAGAZINES_MAX; m++)
			if (node.depot.magazine[m])
				error = add_magazine(in, list, i, node.depot.magazine[m]);
	}
	return error;
}

static int add_reserve(const struct inspection *in, struct held_list *list, size_t i)
{
	const struct slab_cache *copy = in->caches[i].copy;
	const struct cache_reserve *now;
	int error;

	if (!copy->reserve)
		return 0;
	error = add_objects(in, list, i, HELD_IN_RESERVE,
			    (uintptr_t)copy->reserve + offsetof(struct cache_reserve, obj),
			    sizeof(void *), copy->memory.reserve_left);
	if (error != -EFAULT)
		return error;
	/* A cache that a thread destroys loses its reserve. */
	error = inspect_read(in, in->caches[i].address + offsetof(struct slab_cache, reserve),
			     sizeof(now), &now);
	return !error && now == copy->reserve ? -EFAULT : error;
}

/* --- sorting, without memory -------------------------------------------------------------- */

static void sift(struct held *held, size_t i, size_t n)
{
	for (;;) {
		size_t most = i;
		struct held swap;

		for (size_t c = 2 * i + 1; c < n && c < 2 * i + 3; c++)
			if (held[c].address > held[most].address)
				most = c;
		if (most == i)
			return;
		swap = held[i];
		held[i] = held[most];
		held[most] = swap;
		i = most;
	}
}

static void sort(struct held *held, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(held, i, n);
	for (size_t end = n; end-- > 1;) {
		const struct held swap = held[0];

		held[0] = held[end];
		held[end] = swap;
		sift(held, 0, end);
	}
}

/* --- the list -------------------------------------------------------------------------------- */

int inspect_held(const struct inspection *in, struct held_list *list)
{
	int error = 0;

	*list = (struct held_list){.held = NULL};
	for (size_t i = 0; i < in->count && !error; i++) {
		error = add_cpus(in, list, i);
		if (!error)
			error = add_magazines(in, list, i);
		if (!error)
			error = add_reserve(in, list, i);
	}
	sort(list->held, list->count);
	return error;
}

void inspect_held_free(struct held_list *list)
{
	if (list->room)
		os_unmap(list->held, bytes_of(list->room));
	*list = (struct held_list){.held = NULL};
}

size_t inspect_held_from(const struct held_list *list, uint64_t address)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (list->held[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

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
	struct inspect_buffer records;
	struct held_list held;
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

	return inspect_fetch(in, (uintptr_t)(slab->slab.debug + 1), bytes, &scan->records);
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
		const char *at = scan->records.bytes + (size_t)i * slab->debug.stride;
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

static void mark_held(struct scan *scan, const struct inspection *in, struct inspect_cache *cache,
		      struct inspect_objects *seen)
{
	const uint64_t end = seen->slab->address + seen->slab->bytes;
	const struct held_list *list = &scan->held;

	for (size_t i = inspect_held_from(list, seen->slab->address);
	     i < list->count && list->held[i].address < end; i++) {
		const struct held *held = &list->held[i];
		const uint64_t into = held->address - seen->first;
		const uint64_t index = into / seen->stride;

		if (&in->caches[held->cache] != cache)
			continue;
		cache->strays--;
		/* The record of an object of a debug slab says so, too. */
		if (seen->slab->slab.debug && held->by == HELD_WAITING)
			continue;
		if (held->address < seen->first || into % seen->stride || index >= seen->count ||
		    scan->lists->state[index] != SEEN_ALLOCATED)
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
		seen.records = scan->records.bytes;
	if (has_records && slab->debug.debug_flags & SLAB_STORE_USER)
		seen.stack = scan->lists->stack;
	mark_held(scan, in, cache, &seen);
	scan->fn(in, cache, &seen, scan->arg);
}

int inspect_each_objects(struct inspection *in,
			 void (*fn)(struct inspection *in, struct inspect_cache *cache,
				    const struct inspect_objects *seen, void *arg),
			 void *arg)
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
	inspect_buffer_free(&scan.records);
	inspect_held_free(&scan.held);
	os_unmap(scan.lists, sizeof(*scan.lists));
	return error;
}
