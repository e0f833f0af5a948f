/* SPDX-License-Identifier: MIT */
/* Validation of slabs: maps of free objects, and the bytes of debug slabs. verify_lists.c checks
 * the lists that slabs are on. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "debug/damage.h"
#include "debug/debug_cache.h"
#include "objects.h"
#include "regions.h"
#include "verify.h"
#include "pages/os.h"

#define SLAB_BYTES_MAX (UINT64_C(1) << SLAB_SHIFT_MAX)
/* Bytes of struct slab_debug and the records, copies of objects included. */
#define SIDE_BYTES_MAX (UINT32_C(64) << 20)

/* The reports of a cache. More say nothing new; all problems are counted. */
#define REPORTS_MAX 1000

struct verify {
	struct inspection *in;
	char *memory; /* a copy of the slab's memory */
	struct verify_lists lists;
	struct inspect_buffer side; /* a copy of its struct slab_debug and records */
	see_problem *fn;
	void *arg;
	int error;
};

/* Count a problem; is it to be reported? */
static bool count_problem(struct inspect_verified *verified)
{
	return verified->problems++ < REPORTS_MAX;
}

static void tell(struct verify *verify, struct inspect_cache *cache, const struct bug_info *bug)
{
	if (count_problem(&cache->verified))
		verify->fn(bug, (size_t)(cache - verify->in->caches), verify->arg);
}

/* --- slabs without debug flags ------------------------------------------------------------- */

static void describe_slab(struct bug_info *bug, const struct inspect_slab *seen)
{
	bug->slab = (const struct slab *)(uintptr_t)seen->descriptor;
	bug->base = (const char *)(uintptr_t)seen->address;
	bug->objects = seen->slab.objects;
	bug->used = seen->used;
}

static void tell_of_map(struct verify *verify, struct inspect_cache *cache,
			const struct inspect_slab *seen, const char *reason, const char *note)
{
	struct bug_info bug;

	bug_info_begin(&bug, SLAB_PROBLEM_FREELIST, cache->copy->name, "%s", reason);
	describe_slab(&bug, seen);
	bug_info_note(&bug, "%s", note);
	tell(verify, cache, &bug);
}

static void tell_of_sizes(struct verify *verify, struct inspect_cache *cache,
			  const struct inspect_slab *seen)
{
	tell_of_map(verify, cache, seen, "Slab descriptor corrupt",
		    "its objects do not fit its sizes");
}

static void check_map(struct verify *verify, struct inspect_cache *cache,
		      const struct inspect_objects *seen)
{
	char note[96];

	if (seen->fault) {
		snprintf(note, sizeof(note), "The slab is inconsistent: %s", seen->fault);
		tell_of_map(verify, cache, seen->slab, "Map of free objects corrupt", note);
	}
	if (!seen->held_wrongly)
		return;
	snprintf(note, sizeof(note), "Objects that CPUs hold, but are free, held twice or none: %u",
		 seen->held_wrongly);
	tell_of_map(verify, cache, seen->slab, "Object held twice", note);
}

/* --- debug slabs --------------------------------------------------------------------------- */

/* Do the sizes of a debug slab lead only to memory of the slab? */
static bool is_plausible(const struct inspect_slab *seen)
{
	const struct slab_debug *debug = &seen->debug;
	const uint64_t size = seen->size;
	uint64_t stride = sizeof(struct debug_object);

	if (debug->debug_flags & SLAB_STORE_USER)
		stride += 2 * sizeof(struct track);
	if (debug->copies)
		stride += debug->object_size;
	return seen->bytes <= SLAB_BYTES_MAX && seen->side <= SIDE_BYTES_MAX && size &&
	       debug->object_size && debug->object_size <= debug->inuse &&
	       (uint64_t)debug->red_left + debug->inuse <= size && debug->stride >= stride &&
	       debug->stride % sizeof(uint64_t) == 0 &&
	       sizeof(*debug) + seen->bytes / size * debug->stride <= seen->side;
}

/* The accessible pages of a guarded slab are those of its object. */
static int read_guarded(const struct verify *verify, const struct inspect_slab *seen)
{
	const uint64_t page = os_page_size();
	const uint64_t start = seen->debug.red_left & ~(page - 1);
	const uint64_t end = os_pages(seen->debug.red_left + seen->debug.object_size);

	if (seen->slab.initialized == 0 || end > seen->bytes)
		return -EFAULT;
	return inspect_read(verify->in, seen->address + start, end - start, verify->memory + start);
}

static int read_memory(const struct verify *verify, const struct inspect_slab *seen)
{
	return inspect_read(verify->in, seen->address, seen->bytes, verify->memory);
}

struct copied {
	struct verify *verify;
	struct inspect_cache *cache;
	const struct inspect_slab *seen;
};

static void tell_of_copy(struct bug_info *bug, void *arg)
{
	const struct copied *copied = arg;
	const struct inspect_slab *seen = copied->seen;

	bug_info_of_copy(bug, copied->verify->memory, seen->bytes,
			 (const char *)(uintptr_t)seen->address,
			 (const struct slab *)(uintptr_t)seen->descriptor);
	tell(copied->verify, copied->cache, bug);
}

static bool is_free_guarded(const struct verify *verify, const struct inspect_slab *seen)
{
	struct debug_object record;

	memcpy(&record, verify->side.bytes + sizeof(struct slab_debug), sizeof(record));
	return seen->guarded && record.state == OBJECT_FREE;
}

/* The copy names the copy of its cache, as the code of `debug` expects. */
static void check_copy(struct verify *verify, struct inspect_cache *cache,
		       const struct inspect_slab *seen)
{
	struct copied copied = {verify, cache, seen};
	struct slab slab = seen->slab; /* without a map, which debug slabs have not */

	slab.base = verify->memory;
	slab.user = (const void *)((uintptr_t)cache->copy | SLAB_TAG_DEBUG);
	slab.debug = (struct slab_debug *)verify->side.bytes;
	memcpy(slab.debug, &seen->debug, sizeof(seen->debug));
	debug_check_copy(cache->copy, &slab, tell_of_copy, &copied);
}

static void check_debug(struct verify *verify, struct inspect_cache *cache,
			const struct inspect_slab *seen)
{
	int error;

	if (!is_plausible(seen)) {
		tell_of_sizes(verify, cache, seen);
		return;
	}
	error = inspect_fetch(verify->in, (uintptr_t)seen->slab.debug, seen->side, &verify->side);
	if (!error && is_free_guarded(verify, seen))
		return;
	if (!error)
		error = seen->guarded ? read_guarded(verify, seen) : read_memory(verify, seen);
	if (error)
		verify->error = error;
	else
		check_copy(verify, cache, seen);
}

/* --- all slabs ----------------------------------------------------------------------------- */

static void check_slab(struct inspection *in, struct inspect_cache *cache,
		       const struct inspect_objects *seen, void *arg)
{
	struct verify *verify = arg;
	const struct inspect_slab *slab = seen->slab;

	(void)in;
	verify_lists_count(&verify->lists, cache, slab);
	if (verify_is_locked(&verify->lists, cache, slab)) {
		cache->verified.left_out++;
		return;
	}
	cache->verified.slabs++;
	if (verify->error)
		return;
	if (!seen->count)
		tell_of_sizes(verify, cache, slab);
	else
		check_map(verify, cache, seen);
	if (seen->count && slab->tagged && slab->slab.debug)
		check_debug(verify, cache, slab);
}

static void tell_of_strays(struct verify *verify, struct inspect_cache *cache)
{
	struct bug_info bug;

	bug_info_begin(&bug, SLAB_PROBLEM_FREELIST, cache->copy->name,
		       "Objects that CPUs hold, but lie in no slab of the cache: %ld",
		       cache->strays);
	tell(verify, cache, &bug);
}

static void tell_list(const struct bug_info *bug, size_t cache, void *arg)
{
	struct verify *verify = arg;

	tell(verify, &verify->in->caches[cache], bug);
}

static int check_caches(struct verify *verify)
{
	struct inspection *in = verify->in;
	int error = verify_lists_begin(&verify->lists, in);

	if (!error)
		error = inspect_each_objects(in, check_slab, verify);
	if (!error)
		error = verify->error;
	for (size_t i = 0; i < in->count && !error; i++) {
		if (in->caches[i].strays)
			tell_of_strays(verify, &in->caches[i]);
		error = verify_lists_check(&verify->lists, &in->caches[i], tell_list, verify);
	}
	verify_lists_end(&verify->lists);
	return error;
}

int inspect_verify(struct inspection *in, see_problem *fn, void *arg)
{
	struct verify verify = {.in = in, .fn = fn, .arg = arg};
	int error;

	verify.memory = os_map(SLAB_BYTES_MAX, 1);
	if (!verify.memory)
		return -ENOMEM;
	error = check_caches(&verify);
	inspect_buffer_free(&verify.side);
	os_unmap(verify.memory, SLAB_BYTES_MAX);
	return error;
}

/* --- large allocations ---------------------------------------------------------------------- */

struct verify_large {
	struct inspection *in;
	char *memory; /* a copy of a piece of a red zone */
	see_problem *fn;
	void *arg;
	int error;
	struct inspect_verified verified;
	struct segment segment; /* of the last segment that was seen */
	uint64_t start;
};

static void tell_of_zone(struct verify_large *large, const struct damage *damage, uint64_t at,
			 uint64_t allocation)
{
	const uint64_t first = at + (uint64_t)(damage->first - large->memory);
	const uint64_t last = at + (uint64_t)(damage->last - large->memory);
	struct bug_info bug;

	damage_begin_bug_info(damage, LARGE_NAME, &bug);
	bug_info_note(&bug,
		      "0x%" PRIx64 "-0x%" PRIx64 " beside the large allocation at 0x%" PRIx64
		      ". First byte 0x%02x instead of 0x%02x",
		      first, last, allocation, bug.found, bug.expected);
	bug_info_of_copy(&bug, large->memory, SLAB_BYTES_MAX, (const char *)(uintptr_t)at, NULL);
	if (count_problem(&large->verified))
		large->fn(&bug, large->in->count, large->arg);
}

/* A red zone, in pieces that are read to large->memory. */
static void check_zone(struct verify_large *large, enum slab_problem problem, const char *what,
		       uint64_t start, uint64_t end, uint64_t allocation)
{
	/* The right zone begins at any byte, but words are read. */
	for (uint64_t at = start & ~UINT64_C(7); at < end && !large->error; at += SLAB_BYTES_MAX) {
		const uint64_t n = end - at < SLAB_BYTES_MAX ? end - at : SLAB_BYTES_MAX;
		char *from = large->memory + (at < start ? start - at : 0);
		const struct region region =
			region_of(problem, what, from, large->memory + n, RED_ACTIVE);
		struct damage damage;

		large->error = inspect_read(large->in, at, n, large->memory);
		if (!large->error && debug_region_damaged(&region, &damage))
			tell_of_zone(large, &damage, at, allocation);
	}
}

static void check_large(enum region_kind kind, uint64_t address, uint64_t bytes, void *arg)
{
	struct verify_large *large = arg;

	if (kind == REGION_SEGMENT) {
		large->start = address;
		if (!large->error)
			large->error = inspect_read(large->in, address + SEGMENT_HEAD_OFFSET,
						    sizeof(large->segment), &large->segment);
		return;
	}
	if (large->error || !large->segment.red_zone ||
	    large->segment.red_zone > address - large->start ||
	    bytes > large->segment.mapped - (address - large->start))
		return;
	large->verified.slabs++;
	check_zone(large, SLAB_PROBLEM_LEFT_REDZONE, "Left Redzone",
		   address - large->segment.red_zone, address, address);
	check_zone(large, SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone", address + bytes,
		   large->start + large->segment.mapped, address);
}

int inspect_verify_large(struct inspection *in, see_problem *fn, void *arg,
			 struct inspect_verified *ret_verified)
{
	struct verify_large large = {.in = in, .fn = fn, .arg = arg};
	int error;

	large.memory = os_map(SLAB_BYTES_MAX, 1);
	if (!large.memory)
		return -ENOMEM;
	error = inspect_each_segment(in, check_large, &large);
	if (!error)
		error = large.error;
	os_unmap(large.memory, SLAB_BYTES_MAX);
	*ret_verified = large.verified;
	return error;
}

/* --- tracks ---------------------------------------------------------------------------------- */

static void read_thread_name(const struct inspection *in, uint32_t name, char text[16])
{
	uint64_t word[2] = {0, 0}, names;

	memset(text, 0, 16);
	if (!name || name >= TRACK_NAMES ||
	    inspect_read(in, (uintptr_t)in->root.thread_names, sizeof(names), &names) || !names ||
	    inspect_read(in, names + name * sizeof(word), sizeof(word), word))
		return;
	word[1] &= ~TRACK_NAME_COMPLETE;
	memcpy(text, word, sizeof(word));
}

/* Names come from the process: only printable characters reach a terminal. */
static void tidy(char text[16])
{
	text[15] = '\0';
	for (char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

void inspect_describe_track(void *arg, const struct track *track, struct slab_track *to)
{
	const struct inspection *in = arg;
	const void *frame[SLAB_STACK_MAX];

	*to = (struct slab_track){.tid = (int)track->tid, .cpu = -1};
	if (!track->tid)
		return;
	to->cpu = track->cpu == (1u << TRACK_CPU_BITS) - 1 ? -1 : (int)track->cpu;
	if (in->reader->now_ms > track->when)
		to->age_ms = in->reader->now_ms - track->when;
	read_thread_name(in, track->name, to->thread);
	tidy(to->thread);
	to->frames = inspect_stack(in, track->stack, frame);
	for (unsigned i = 0; i < to->frames; i++)
		to->frame[i] = frame[i];
}
