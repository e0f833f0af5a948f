/* SPDX-License-Identifier: MIT */
/* Finding the memory that libslab has in a process. */
#include <errno.h>

#include "regions.h"
#include "walk.h"
#include "pages/os.h"

/* --- large allocations that are mappings of their own ----------------------------------------- */

#define MARKS_AT_ONCE 512u

struct mapped_large {
	struct inspection *in;
	see_region *fn;
	void *arg;
};

/* A segment with one large allocation, whose descriptor every entry of the table leads to. It may
 * be gone. */
static bool read_mapped(const struct inspection *in, uint64_t start, struct segment *segment,
			struct slab *slab)
{
	uint64_t descriptor;

	return !inspect_read(in, start + SEGMENT_HEAD_OFFSET, sizeof(*segment), segment) &&
	       segment->magic == SEGMENT_MAGIC && segment->base &&
	       !inspect_read(in, start + SEGMENT_TABLE_OFFSET, sizeof(descriptor), &descriptor) &&
	       descriptor >= start && !inspect_read(in, descriptor, sizeof(*slab), slab);
}

static void see_mapped(const struct mapped_large *mapped, uint64_t start)
{
	struct segment segment;
	struct slab slab;

	if (!read_mapped(mapped->in, start, &segment, &slab))
		return;
	mapped->fn(REGION_SEGMENT, start, segment.mapped, mapped->arg);
	if (slab.large)
		mapped->fn(REGION_LARGE, (uintptr_t)slab.base, slab.large, mapped->arg);
}

/* The marks of a table whose first one is that of segment number `first`. */
static int each_mark(struct mapped_large *mapped, uint64_t table, uint64_t first)
{
	uint64_t word[MARKS_AT_ONCE / 8];
	const uint8_t *mark = (const uint8_t *)word;

	for (uint64_t at = 0; at < SEGMENT_MARKS; at += MARKS_AT_ONCE) {
		int error = inspect_read(mapped->in, table + at, sizeof(word), word);

		if (error)
			return error;
		for (unsigned i = 0; i < MARKS_AT_ONCE; i++)
			if (mark[i] == SEGMENT_MARK_LARGE)
				see_mapped(mapped, (first + at + i) << SEGMENT_SHIFT);
	}
	return 0;
}

static int each_mapped(struct inspection *in, see_region *fn, void *arg)
{
	struct mapped_large mapped = {in, fn, arg};
	uint64_t window, far;
	int error = inspect_read(in, (uintptr_t)in->root.window, sizeof(window), &window);

	if (!error)
		error = each_mark(&mapped, (uintptr_t)in->root.marks, window);
	for (uint64_t i = 0; i < SEGMENT_FAR_TABLES && !error; i++) {
		error = inspect_read(in, (uintptr_t)(in->root.far_marks + i), sizeof(far), &far);
		if (!error && far)
			error = each_mark(&mapped, far, i * SEGMENT_MARKS);
	}
	return error;
}

int inspect_each_segment(struct inspection *in, see_region *fn, void *arg)
{
	int error = inspect_each_listed_segment(in, fn, arg);

	return error ? error : each_mapped(in, fn, arg);
}

/* --- libslab's own memory -------------------------------------------------------------------- */

static int each_arena(const struct inspection *in, see_region *fn, void *arg)
{
	const uint64_t lists = (uintptr_t)in->root.arenas;
	uint64_t arena = 0, head[2]; /* the next one, the bytes */
	int error = 0;

	for (unsigned node = 0; node < in->process.nodes && !error; node++) {
		struct walk walk = {.remembered = 0};

		error = inspect_read(in, lists + node * sizeof(arena), sizeof(arena), &arena);
		while (!error && arena) {
			if (goes_round(&walk, arena))
				return -EFAULT;
			error = inspect_read(in, arena, sizeof(head), head);
			if (error)
				break;
			fn(REGION_ARENA, arena & ~(METADATA_ARENA_BYTES - 1), head[1], arg);
			arena = head[0];
		}
	}
	return error;
}

/* Areas, each of which has arrays of many caches. */
struct areas {
	uint64_t *row0; /* of those that were seen */
	unsigned seen, room;
	see_region *fn;
	void *arg;
};

static bool is_new(const struct areas *areas, uint64_t row0)
{
	for (unsigned i = areas->seen; i-- > 0;)
		if (areas->row0[i] == row0)
			return false;
	return areas->seen < areas->room;
}

/* The array of CPU -1 says where its area begins. */
static int see_area(const struct inspection *in, const char *arrays, struct areas *areas)
{
	struct cpu_array head;
	int error = inspect_read(in, inspect_array_row(arrays, -1), sizeof(head), &head);
	const uint64_t row0 = head.stamp, before = head.streak;

	if (error || before > CPU_AREA_ROWS_BEFORE || row0 <= before << CPU_ROW_SHIFT ||
	    !is_new(areas, row0))
		return error;
	areas->row0[areas->seen++] = row0;
	areas->fn(REGION_ARRAYS, row0 - (before << CPU_ROW_SHIFT),
		  (before + in->cpus) << CPU_ROW_SHIFT, areas->arg);
	return 0;
}

static int each_area(const struct inspection *in, see_region *fn, void *arg)
{
	struct areas areas = {.room = in->areas, .fn = fn, .arg = arg};
	const size_t bytes = os_pages(((size_t)areas.room + 1) * sizeof(uint64_t));
	int error = 0;

	areas.row0 = os_map(bytes, 1);
	if (!areas.row0)
		return -ENOMEM;
	for (size_t i = 0; i < in->count && !error; i++) {
		const struct slab_cache *copy = in->caches[i].copy;

		error = see_area(in, copy->own_arrays, &areas);
		if (!error && copy->short_arrays)
			error = see_area(in, copy->short_arrays, &areas);
		if (!error && copy->rcu)
			error = see_area(in, copy->rcu_arrays, &areas);
	}
	os_unmap(areas.row0, bytes);
	return error;
}

static int each_chunk(const struct inspection *in, see_region *fn, void *arg)
{
	const uint64_t table = (uintptr_t)in->root.stacks + offsetof(struct stack_depot, chunk);
	uint64_t chunk = 1;
	int error = 0;

	for (unsigned i = 0; i < DEPOT_CHUNKS_MAX && chunk && !error; i++) {
		error = inspect_read(in, table + i * sizeof(chunk), sizeof(chunk), &chunk);
		if (!error && chunk)
			fn(REGION_STACKS, chunk, UINT64_C(1) << DEPOT_CHUNK_SHIFT, arg);
	}
	return error;
}

int inspect_each_region(struct inspection *in, see_region *fn, void *arg)
{
	int error = inspect_each_segment(in, fn, arg);

	if (!error)
		error = each_arena(in, fn, arg);
	if (!error)
		error = each_area(in, fn, arg);
	if (!error)
		error = each_chunk(in, fn, arg);
	return error;
}
