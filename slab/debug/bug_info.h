/* SPDX-License-Identifier: MIT */
/*
 * A finding: what a check saw, copied under the node's lock, so that the report
 * about it can be put together and written without any lock.
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

/* Bytes of memory that a report shows: of an object, and of what stands around it. */
#define FINDING_DUMP_OBJECT 128
#define FINDING_DUMP_EDGE 32
#define FINDING_DUMP_BEFORE 16

/* A copied range of memory. */
struct dump {
	const char *start;
	unsigned len;  /* 0: nothing to show */
	unsigned more; /* bytes of the same kind that were left out */
};

struct finding {
	enum slab_problem problem;
	const char *cache;
	char reason[160];
	/* the damaged bytes: none when first is NULL */
	const char *first, *last;
	uint8_t found, expected;
	/* the slab: none when NULL */
	const struct slab *slab;
	uint64_t letters;
	unsigned objects, used;
	bool lists_free;      /* it has letters: freelist and next_free are known */
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
	char bytes_before[FINDING_DUMP_BEFORE], bytes_body[FINDING_DUMP_OBJECT];
	char bytes_red_zone[FINDING_DUMP_EDGE], bytes_padding[FINDING_DUMP_EDGE];
	/* further words, and what was done */
	char note[160];
	unsigned fixes;
	char fix[2][160];
};

/* Start one about a cache. The name has to stay valid. */
void finding_begin(struct finding *finding, enum slab_problem problem, const char *cache,
		   const char *reason, ...) __attribute__((format(printf, 4, 5)));
/* The damaged bytes, inclusive. */
void finding_damage(struct finding *finding, const char *first, const char *last, uint8_t expected);
/*
 * Copy what is known of a slab (plain or with letters) and of one of its objects,
 * where it is readable and inside the slab. After finding_damage(), which decides
 * what is shown of a long object; under the lock. slab_nowhere is no slab.
 */
void finding_slab(struct finding *finding, const struct slab *slab);
void finding_object(struct finding *finding, const struct slab *slab, unsigned index);
/* The same for a large allocation of `size` bytes with red zones. */
void finding_large(struct finding *finding, const struct slab *slab, size_t size);
/* The calling thread came upon it, in a function called from `caller`. */
void finding_detected(struct finding *finding, const void *caller);
/* One more line. */
void finding_note(struct finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "FIX cache: …": what was done about it; two at most. */
void finding_fix(struct finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Report it, with no lock held. errno is untouched. Async-signal-safe,
 * and careful with the stack: it may be the small one of a signal handler.
 */
void finding_report(const struct finding *finding);

#endif /* SLAB_DEBUG_BUG_INFO_H */
