/* SPDX-License-Identifier: MIT */
/* Collecting the free objects that lie beside their slabs, in one sorted list. */
#include <errno.h>

#include "held.h"
#include "pages/os.h"

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

static int add(struct held_list *list, size_t cache, enum held_by by, uint64_t address)
{
	if (list->count == list->room && !grow(list))
		return -ENOMEM;
	list->held[list->count++] = (struct held){address, (uint32_t)cache, by};
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
			error = add(list, cache, by, (uintptr_t)obj[i]);
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
	error = add(list, cache, by, count << 16 >> 16);
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

	if (!copy->reserve)
		return 0;
	return add_objects(in, list, i, HELD_IN_RESERVE,
			   (uintptr_t)copy->reserve + offsetof(struct cache_reserve, obj),
			   sizeof(void *), copy->memory.reserve_left);
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
