/* SPDX-License-Identifier: MIT */
/* Finding the memory that libslab has in a process. */
#include <errno.h>

#include "inspect/regions.h"
#include "inspect/walk.h"
#include "pages/metadata.h"

static int each_arena(const struct inspection *in, see_region *fn, void *arg)
{
	const uint64_t lists = (uintptr_t)in->root.arenas;
	uint64_t arena = 0;
	int error = 0;

	for (unsigned node = 0; node < in->process.nodes && !error; node++) {
		struct walk walk = {.remembered = 0};

		error = inspect_read(in, lists + node * sizeof(arena), sizeof(arena), &arena);
		while (!error && arena) {
			if (goes_round(&walk, arena))
				return -EFAULT;
			fn(REGION_ARENA, arena & ~(METADATA_ARENA_BYTES - 1), METADATA_ARENA_BYTES,
			   arg);
			error = inspect_read(in, arena, sizeof(arena), &arena);
		}
	}
	return error;
}

/* The row of CPU -1 of any slots in an area says where the area begins. Many caches share one. */
static int each_area(const struct inspection *in, see_region *fn, void *arg)
{
	const uint64_t before = (uint64_t)CPU_AREA_ROWS_BEFORE << CPU_AREA_SHIFT;
	const uint64_t bytes = cpu_area_bytes(1, in->cpus);
	uint64_t last = 0;

	for (size_t i = 0; i < in->count; i++) {
		const uint64_t slots = (uintptr_t)in->caches[i].copy->cpu_slots;
		uint64_t row0;
		int error = inspect_read(in,
					 slots - ((uint64_t)1 << CPU_AREA_SHIFT) +
						 offsetof(struct cpu_slot, event[CPU_ROW_START]),
					 sizeof(row0), &row0);

		if (error)
			return error;
		if (row0 != last && row0 > before)
			fn(REGION_SLOTS, row0 - before, bytes, arg);
		last = row0;
	}
	return 0;
}

static int each_chunk(const struct inspection *in, see_region *fn, void *arg)
{
	const uint64_t table = (uintptr_t)in->root.stacks + offsetof(struct depot, chunk);
	uint64_t chunk = 1;
	int error = 0;

	for (unsigned i = 0; i < DEPOT_CHUNKS_MAX && chunk && !error; i++) {
		error = inspect_read(in, table + i * sizeof(chunk), sizeof(chunk), &chunk);
		if (!error && chunk)
			fn(REGION_STACKS, chunk, UINT64_C(1) << DEPOT_CHUNK_SHIFT, arg);
	}
	return error;
}

static int each_rest(const struct inspection *in, see_region *fn, void *arg)
{
	struct cache_node node;
	int error = 0;

	for (size_t i = 0; i < in->count && !error; i++) {
		for (unsigned n = 0; n < in->process.nodes && !error; n++) {
			error = inspect_node(in, &in->caches[i], n, &node);
			if (!error)
				fn(REGION_HANDLES, (uintptr_t)node.rest, sizeof(struct node_rest),
				   arg);
		}
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
	if (!error)
		error = each_rest(in, fn, arg);
	return error;
}
