/* SPDX-License-Identifier: MIT */
/*
 * The depot of stacks.
 *
 * An id is the position of a record in units of 8 bytes; its upper bits select the chunk. A
 * thread adds a record in three steps: it takes room at the end (one exchange of `next`), fills
 * in the record, and puts it in front of its bucket's list (one exchange of the bucket). If the
 * last exchange fails, the thread searches the records that other threads have added meanwhile.
 * So no stack is in the table twice; the room of an unused record is lost.
 */
#include <errno.h>
#include <slab/debug.h>
#include <string.h>

#include "report/depot.h"
#include "pages/os.h"
#include "report/track.h"

#define UNIT DEPOT_UNIT
#define CHUNK_BYTES ((size_t)1 << DEPOT_CHUNK_SHIFT)
#define CHUNK_UNITS ((uint32_t)(CHUNK_BYTES / UNIT))
#define BUCKETS_BYTES (sizeof(uint32_t) << DEPOT_BUCKET_BITS)
#define FIRST_ID 1u

_Static_assert(sizeof(struct stack_record) == UNIT, "frames follow aligned");
_Static_assert(SLAB_STACK_MAX < 1u << DEPOT_COUNT_BITS, "a number of frames fits");

struct stack_depot depot_stacks;

uint64_t depot_hash(const void *const *frames, unsigned n)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
	uint64_t hash = n;

	for (unsigned i = 0; i < n; i++) {
		hash = (hash ^ (uintptr_t)frames[i]) * odd;
		hash ^= hash >> 32;
	}
	return hash * odd;
}

static struct stack_record *record_at(const struct stack_depot *depot, uint32_t id)
{
	char *chunk = __atomic_load_n(&depot->chunk[id / CHUNK_UNITS], __ATOMIC_ACQUIRE);

	return (struct stack_record *)(chunk + (size_t)(id % CHUNK_UNITS) * UNIT);
}

/* Find a stack among the records from `id` up to, but without, `end`. Returns its id or 0. */
static uint32_t find(const struct stack_depot *depot, uint32_t id, uint32_t end, uint32_t signature,
		     const void *const *frames, unsigned n)
{
	while (id != end) {
		const struct stack_record *record = record_at(depot, id);

		if (record->signature == signature &&
		    memcmp(record->frames, frames, n * sizeof(*frames)) == 0)
			return id;
		id = record->next;
	}
	return 0;
}

/* Take room for a record of `units` units. It lies in one chunk, which is mapped. 0: the depot
 * is full. */
static uint32_t take_room(struct stack_depot *depot, unsigned units)
{
	uint32_t chunks = depot->chunks_max ? depot->chunks_max : DEPOT_CHUNKS_MAX;
	uint32_t next = __atomic_load_n(&depot->next, __ATOMIC_RELAXED);
	uint32_t id;

	do {
		id = next ? next : FIRST_ID;
		if (id % CHUNK_UNITS + units > CHUNK_UNITS)
			id = (id / CHUNK_UNITS + 1) * CHUNK_UNITS;
		if (id / CHUNK_UNITS >= chunks ||
		    !os_map_once(&depot->chunk[id / CHUNK_UNITS], CHUNK_BYTES))
			return 0;
	} while (!__atomic_compare_exchange_n(&depot->next, &next, id + units, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return id;
}

/* NULL: there is no memory for buckets. */
static uint32_t *bucket_of(struct stack_depot *depot, uint64_t hash)
{
	uint32_t *buckets = os_map_once(&depot->buckets, BUCKETS_BYTES);

	return buckets ? &buckets[hash >> (64 - DEPOT_BUCKET_BITS)] : NULL;
}

static uint32_t add(struct stack_depot *depot, uint64_t hash, const void *const *frames, unsigned n)
{
	uint32_t *bucket = bucket_of(depot, hash);
	uint32_t signature = (uint32_t)(hash << DEPOT_COUNT_BITS) | n;
	uint32_t first = bucket ? __atomic_load_n(bucket, __ATOMIC_ACQUIRE) : 0;
	uint32_t found = find(depot, first, 0, signature, frames, n);
	uint32_t id = found || !bucket ? 0 : take_room(depot, 1 + n);
	struct stack_record *record;

	if (!id)
		return found;
	record = record_at(depot, id);
	record->signature = signature;
	memcpy(record->frames, frames, n * sizeof(*frames));
	for (;;) {
		uint32_t seen = first;

		record->next = first;
		if (__atomic_compare_exchange_n(bucket, &first, id, false, __ATOMIC_RELEASE,
						__ATOMIC_ACQUIRE))
			break;
		found = find(depot, first, seen, signature, frames, n);
		if (found)
			return found;
	}
	__atomic_add_fetch(&depot->count, 1, __ATOMIC_RELAXED);
	return id;
}

uint32_t depot_add(struct stack_depot *depot, uint64_t hash, const void *const *frames, unsigned n)
{
	const int saved = errno;
	const uint32_t id = add(depot, hash, frames, n);

	errno = saved;
	return id;
}

unsigned depot_frames(const struct stack_depot *depot, uint32_t id, const void *const **ret_frames)
{
	const struct stack_record *record;

	*ret_frames = NULL;
	if (id == 0 || id >= __atomic_load_n(&depot->next, __ATOMIC_RELAXED))
		return 0;
	record = record_at(depot, id);
	*ret_frames = record->frames;
	return record->signature & ((1u << DEPOT_COUNT_BITS) - 1);
}

/* --- the library's depot ------------------------------------------------------- */

uint32_t depot_save(const void *const *frames, unsigned n)
{
	if (n == 0)
		return 0;
	if (n > SLAB_STACK_MAX)
		n = SLAB_STACK_MAX;
	return depot_add(&depot_stacks, depot_hash(frames, n), frames, n);
}

unsigned depot_load(uint32_t id, const void *const **ret_frames)
{
	return depot_frames(&depot_stacks, id, ret_frames);
}

size_t depot_bytes(void)
{
	return (size_t)__atomic_load_n(&depot_stacks.next, __ATOMIC_RELAXED) * UNIT;
}

unsigned depot_count(void)
{
	return __atomic_load_n(&depot_stacks.count, __ATOMIC_RELAXED);
}
