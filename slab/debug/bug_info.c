/* SPDX-License-Identifier: MIT */
/* Copying the data of a problem under the slab's lock. bug_report.c makes a report of it later,
 * without locks. */
#include "debug/bug_info.h"
#include "base/peek.h"
#include "core/debug_record.h"
#include "core/slab.h"
#include "report/track.h"

#include <errno.h>
#include <slab/debug.h>
#include <slab/slab.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- copying, under the slab's lock --------------------------------------------- */

/* Copy memory that may be partly inaccessible; returns the number of bytes copied. If the system
 * call is refused, memory is read directly, except that of guarded slabs. */
static size_t copy_bytes(char *to, const char *from, size_t len, bool guarded)
{
	const long copied = peek(to, from, len);

	if (copied >= 0)
		return (size_t)copied;
	if (copied == -EFAULT || guarded)
		return 0;
	memcpy(to, from, len);
	return len;
}

/* The first byte to show if only `room` bytes of [start, end) can be shown: a little before the
 * damage if the damage lies here, else `start`. */
static const char *dump_start(const char *start, const char *end, const char *damage, size_t room)
{
	size_t len = (size_t)(end - start), skip, last;

	if (len <= room || damage < start || damage >= end)
		return start;
	skip = (size_t)(damage - start) / BUG_DUMP_LINE;
	skip -= skip < room / BUG_DUMP_LINE / 4 ? skip : room / BUG_DUMP_LINE / 4;
	last = (len - room + BUG_DUMP_LINE - 1) / BUG_DUMP_LINE;
	return start + BUG_DUMP_LINE * (skip < last ? skip : last);
}

static void dump_copy(struct bug_info *bug, struct dump *dump, char *bytes, size_t room,
		      const char *start, const char *end)
{
	const struct slab *slab = bug->slab;
	bool guarded = !slab_large(slab) && slab->debug && slab->debug->guarded;
	const char *from;
	size_t len;

	*dump = (struct dump){0};
	if (start >= end)
		return;
	from = dump_start(start, end, bug->first, room);
	len = (size_t)(end - from) < room ? (size_t)(end - from) : room;
	dump->start = from;
	dump->len = (unsigned)copy_bytes(bytes, from, len, guarded);
	/* Omitted bytes around a guarded object are not counted: they belong to no object. */
	if (dump->len == len && !guarded)
		dump->more = (unsigned)((size_t)(end - start) - len);
}

void bug_info_begin(struct bug_info *bug, enum slab_problem problem, const char *cache,
		    const char *reason, ...)
{
	va_list args;

	memset(bug, 0, sizeof(*bug));
	bug->problem = problem;
	bug->cache = cache;
	va_start(args, reason);
	vsnprintf(bug->reason, sizeof(bug->reason), reason, args);
	va_end(args);
}

void bug_info_damage(struct bug_info *bug, const char *first, const char *last, uint8_t expected)
{
	bug->first = first;
	bug->last = last;
	bug->expected = expected;
	copy_bytes((char *)&bug->found, first, 1, false);
}

void bug_info_note(struct bug_info *bug, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(bug->note, sizeof(bug->note), format, args);
	va_end(args);
}

void bug_info_fix(struct bug_info *bug, const char *format, ...)
{
	va_list args;

	if (bug->fixes == sizeof(bug->fix) / sizeof(bug->fix[0]))
		return;
	va_start(args, format);
	vsnprintf(bug->fix[bug->fixes++], sizeof(bug->fix[0]), format, args);
	va_end(args);
}

void bug_info_detected(struct bug_info *bug, const void *caller)
{
	track_fill(&bug->detected, caller);
}

/* The object of a freelist entry; NULL if the entry names no object. */
static const char *listed_object(const struct slab *slab, unsigned index_plus_1)
{
	if (!index_plus_1 || index_plus_1 > slab->objects)
		return NULL;
	return debug_object_at(slab, index_plus_1 - 1);
}

static void slab_with_debug_flags(struct bug_info *bug, const struct slab *slab)
{
	const struct slab_cache *cache = slab_user(slab);
	const char *rest = slab->base + (size_t)slab->objects * slab->debug->size;

	bug->lists_free = true;
	bug->freelist = listed_object(slab, slab->debug->first);
	bug->debug_flags = slab->debug->debug_flags;
	if (cache)
		bug->debug_flags |=
			cache_debug_flags(cache) & (SLAB_CONSISTENCY_CHECKS | SLAB_TRACE);
	if (bug->problem == SLAB_PROBLEM_SLAB_PADDING)
		dump_copy(bug, &bug->padding, bug->bytes_padding, BUG_DUMP_EDGE, rest,
			  slab->base + slab_bytes(slab));
}

void bug_info_slab(struct bug_info *bug, const struct slab *slab)
{
	if (slab == &slab_none)
		return;
	bug->slab = slab;
	bug->base = slab->base;
	bug->objects = slab->objects;
	bug->used = slab_used(slab);
	if (slab->debug)
		slab_with_debug_flags(bug, slab);
}

/* Copy the bytes before the object. `zone` of them are its left red zone. */
static void copy_before(struct bug_info *bug, size_t zone)
{
	size_t before = bug->offset < BUG_DUMP_LINE ? bug->offset : BUG_DUMP_LINE;
	const char *start = bug->object - (zone > before ? zone : before);
	const char *from = bug->object - before;

	if (bug->has_red_zone && zone < before)
		from = bug->object - zone;
	if (bug->first >= start && bug->first < from)
		from = start + (size_t)(bug->first - start) / BUG_DUMP_LINE * BUG_DUMP_LINE;
	dump_copy(bug, &bug->before, bug->bytes_before, BUG_DUMP_BEFORE, from, bug->object);
	bug->before.more = 0;
}

static void copy_body(struct bug_info *bug)
{
	dump_copy(bug, &bug->body, bug->bytes_body, BUG_DUMP_OBJECT, bug->object,
		  bug->object + bug->object_size);
}

static void plain_object(struct bug_info *bug, const struct slab *slab, unsigned index)
{
	const struct slab_cache *cache = slab_user(slab);

	if (!cache) /* it has just been released */
		return;
	bug->object = slab_object(cache, slab, index);
	bug->offset = index * cache->size;
	bug->object_size = cache->object_size < cache->size ? cache->object_size : cache->size;
	bug->requested = bug->object_size;
	copy_before(bug, 0);
	copy_body(bug);
}

static void object_with_debug_flags(struct bug_info *bug, const struct slab *slab, unsigned index)
{
	const struct slab_debug *debug = slab->debug;
	const struct debug_object *record = debug_record(slab, index);
	const char *object = debug_object_at(slab, index), *end = object + debug->object_size;
	const char *next = object - debug->red_left + debug->size;
	/* Everything around a guarded object is red zone. */
	const char *inuse = debug->guarded ? next : object + debug->inuse;

	bug->object = object;
	bug->offset = (size_t)(object - slab->base);
	bug->object_size = debug->object_size;
	bug->requested = record->requested;
	bug->next_free = listed_object(slab, record->next);
	bug->has_red_zone = debug->guarded || debug->debug_flags & SLAB_RED_ZONE;
	if (debug->debug_flags & SLAB_STORE_USER) {
		bug->tracks = true;
		bug->allocated = *debug_track(slab, index, TRACK_ALLOC);
		bug->freed = *debug_track(slab, index, TRACK_FREE);
	}
	copy_before(bug, debug->red_left);
	copy_body(bug);
	if (bug->has_red_zone) {
		dump_copy(bug, &bug->red_zone, bug->bytes_red_zone, BUG_DUMP_EDGE, end, inuse);
		end = inuse;
	}
	dump_copy(bug, &bug->padding, bug->bytes_padding, BUG_DUMP_EDGE, end, next);
}

void bug_info_object(struct bug_info *bug, const struct slab *slab, unsigned index)
{
	if (index >= slab->objects)
		return;
	bug->slab = slab;
	bug->base = slab->base;
	if (slab->debug)
		object_with_debug_flags(bug, slab, index);
	else
		plain_object(bug, slab, index);
}

void bug_info_large(struct bug_info *bug, const struct slab *slab, size_t size)
{
	const struct segment *segment = segment_of(slab);
	const char *object = slab->base, *zone = object - segment->red_zone;
	const char *before = object - BUG_DUMP_LINE;

	if (bug->first >= zone && bug->first < before)
		before = zone + (size_t)(bug->first - zone) / BUG_DUMP_LINE * BUG_DUMP_LINE;
	bug->slab = slab;
	bug->base = slab->base;
	bug->debug_flags = SLAB_RED_ZONE;
	bug->objects = bug->used = 1;
	bug->object = object;
	bug->object_size = bug->requested = size;
	bug->has_red_zone = true;
	dump_copy(bug, &bug->before, bug->bytes_before, BUG_DUMP_BEFORE, before, object);
	bug->before.more = 0;
	copy_body(bug);
	dump_copy(bug, &bug->red_zone, bug->bytes_red_zone, BUG_DUMP_EDGE, object + size,
		  segment_start(segment) + segment->mapped);
}

/* --- copies of slabs -------------------------------------------------------------------- */

static void move_pointer(const char **pointer, const char *local, size_t bytes, const char *base)
{
	if (*pointer >= local && *pointer <= local + bytes)
		*pointer = base + (*pointer - local);
}

void bug_info_of_copy(struct bug_info *bug, const char *local, size_t bytes, const char *base,
		      const struct slab *slab)
{
	const char **const pointers[] = {
		&bug->first,          &bug->last,          &bug->base,         &bug->freelist,
		&bug->object,         &bug->next_free,     &bug->before.start, &bug->body.start,
		&bug->red_zone.start, &bug->padding.start,
	};

	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++)
		move_pointer(pointers[i], local, bytes, base);
	if (bug->slab)
		bug->slab = slab;
	bug->fixes = 0;
}
