/* SPDX-License-Identifier: MIT */
/*
 * The data about a problem that a check found, copied under the node's lock, so that the
 * report can be composed and written without a lock.
 */
#ifndef SLAB_DEBUG_BUG_INFO_H
#define SLAB_DEBUG_BUG_INFO_H

#include <slab/debug.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pages/segment.h"
#include "report/report.h"
#include "report/track.h"

/* Bytes of memory that a report shows: of an object, and around it. */
#define BUG_DUMP_LINE ((size_t)16) /* bytes that one line of a dump shows */
#define BUG_DUMP_OBJECT 128
#define BUG_DUMP_EDGE 32
#define BUG_DUMP_BEFORE 16

/* A copied range of memory. */
struct dump {
	const char *start;
	unsigned len;  /* 0: nothing to show */
	unsigned more; /* omitted bytes of the same kind */
};

struct bug_info {
	enum slab_problem problem;
	const char *cache;
	char reason[160];
	/* the damaged bytes: none when first is NULL */
	const char *first, *last;
	uint8_t found, expected;
	/* the slab: none when NULL */
	const struct slab *slab;
	uint64_t debug_flags;
	unsigned objects, used;
	bool lists_free;      /* it has debug flags: freelist and next_free are known */
	const char *freelist; /* its first free object */
	/* the object: none when NULL */
	const char *object;
	size_t object_size, requested, offset;
	const char *next_free;
	bool tracks; /* the slab has U */
	struct track allocated, freed;
	struct track detected; /* empty: not known */
	bool has_red_zone;
	struct dump before, body, red_zone, padding;
	char bytes_before[BUG_DUMP_BEFORE], bytes_body[BUG_DUMP_OBJECT];
	char bytes_red_zone[BUG_DUMP_EDGE], bytes_padding[BUG_DUMP_EDGE];
	/* further text, and repairs */
	char note[160];
	unsigned fixes;
	char fix[2][160];
};

/* Begin one about a cache, whose name must stay valid. */
void bug_info_begin(struct bug_info *bug, enum slab_problem problem, const char *cache,
		    const char *reason, ...) __attribute__((format(printf, 4, 5)));
/* The damaged bytes, inclusive. */
void bug_info_damage(struct bug_info *bug, const char *first, const char *last, uint8_t expected);
/*
 * Copy the data of a slab (with or without debug flags) and of one of its objects, if the
 * object is readable and inside the slab. Call it under the lock, after bug_info_damage(),
 * which selects the shown part of a long object. slab_none: no slab.
 */
void bug_info_slab(struct bug_info *bug, const struct slab *slab);
void bug_info_object(struct bug_info *bug, const struct slab *slab, unsigned index);
/* The same for a large allocation of `size` bytes with red zones. */
void bug_info_large(struct bug_info *bug, const struct slab *slab, size_t size);
/* The calling thread detected it, in a function called from `caller`. */
void bug_info_detected(struct bug_info *bug, const void *caller);
/* One more line. */
void bug_info_note(struct bug_info *bug, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "FIX cache: …": a repair; two at most. */
void bug_info_fix(struct bug_info *bug, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Report it, with no lock held. errno is unchanged. Async-signal-safe; uses little stack,
 * since a signal handler's may be small.
 */
void bug_info_report(const struct bug_info *bug);

#endif /* SLAB_DEBUG_BUG_INFO_H */
