/* SPDX-License-Identifier: MIT */
/* The data of a problem that a check has found. It is copied under the slab's lock, so that the
 * report can be formatted and written without a lock. */
#pragma once

#include <slab/debug.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pages/segment.h"
#include "report/report.h"
#include "report/track.h"

/* How many bytes of an object, and around it, a report shows. */
#define BUG_DUMP_LINE ((size_t)16) /* bytes in a line of a dump */
#define BUG_DUMP_OBJECT 128
#define BUG_DUMP_EDGE 32
#define BUG_DUMP_BEFORE 16

/* A copied range of memory. */
struct dump {
	const char *start;
	unsigned len;  /* 0: nothing to show */
	unsigned more; /* number of omitted bytes of the same kind */
};

/* The name of large allocations in SLAB_DEBUG and reports. */
#define LARGE_NAME "size-large"

struct bug_info {
	enum slab_problem problem;
	const char *cache;
	char reason[160];
	/* the damaged bytes; first NULL: none */
	const char *first, *last;
	uint8_t found, expected;
	/* the slab and its memory; NULL: none */
	const struct slab *slab;
	const char *base;
	uint64_t debug_flags;
	unsigned objects, used;
	bool lists_free;      /* a debug slab: freelist and next_free are known */
	const char *freelist; /* first free object of the slab */
	/* the object; NULL: none */
	const char *object;
	size_t object_size, requested, offset;
	const char *next_free;
	bool tracks; /* a slab with SLAB_STORE_USER: `allocated` and `freed` are set */
	struct track allocated, freed;
	struct track detected; /* the thread that found the problem; empty: not known */
	bool has_red_zone;
	struct dump before, body, red_zone, padding;
	char bytes_before[BUG_DUMP_BEFORE], bytes_body[BUG_DUMP_OBJECT];
	char bytes_red_zone[BUG_DUMP_EDGE], bytes_padding[BUG_DUMP_EDGE];
	/* additional lines, and repairs */
	char note[160];
	const char *late; /* why the problem was found late; NULL: it was not */
	unsigned fixes;
	char fix[2][160];
};

/* Begin a problem of a cache, whose name must stay valid. */
void bug_info_begin(struct bug_info *bug, enum slab_problem problem, const char *cache,
		    const char *reason, ...) __attribute__((format(printf, 4, 5)));
/* Set the range of damaged bytes; `last` is included. */
void bug_info_damage(struct bug_info *bug, const char *first, const char *last, uint8_t expected);
/*
 * Copy the data of a slab, with or without debug flags, and of one of its objects, if the object
 * is readable and lies in the slab. Call this under the lock and after bug_info_damage(), which
 * selects the part of a long object that is shown. slab_none: there is no slab.
 */
void bug_info_slab(struct bug_info *bug, const struct slab *slab);
void bug_info_object(struct bug_info *bug, const struct slab *slab, unsigned index);
/* Copy the data of a large allocation of `size` bytes with red zones. */
void bug_info_large(struct bug_info *bug, const struct slab *slab, size_t size);
/* Record that the calling thread found the problem, in a function called from `caller`. */
void bug_info_detected(struct bug_info *bug, const void *caller);
/* Set the additional line. */
void bug_info_note(struct bug_info *bug, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Add a repair, "FIX cache: …". A report has two at most. */
void bug_info_fix(struct bug_info *bug, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The slab that was described is a copy at `local` of `bytes` bytes at `base`, and its descriptor
 * is at `slab`: let the report have these addresses. Repairs of the copy are left out. */
void bug_info_of_copy(struct bug_info *bug, const char *local, size_t bytes, const char *base,
		      const struct slab *slab);

/* The tracks of another process. */
struct bug_tracks {
	void (*describe)(void *arg, const struct track *track, struct slab_track *to);
	void *arg;
	bool has_ages; /* it is known what time it was */
};
/* Write the report of a problem in another process to `text`, with stacks as numbers; returns its
 * length without the terminating zero. 0: there is no memory. */
size_t bug_info_text(const struct bug_info *bug, const struct bug_tracks *tracks,
		     char text[REPORT_MAX]);
/* Write the report. The caller holds no lock. errno keeps its value. Async-signal-safe; uses
 * little stack, because that of a signal handler may be small. */
void bug_info_report(const struct bug_info *bug);
