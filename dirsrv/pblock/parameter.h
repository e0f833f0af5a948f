/* SPDX-License-Identifier: MIT */
/*
 * Parameters of a pblock.
 *
 * A pblock consists of parts, which are structs whose members are parameters. A table, indexed by
 * the parameter's number, has its part and its offset there. An absent part reads as zeros, so
 * zero bytes must mean the default: a parameter with a default other than 0 (PRESET) is stored as
 * value ^ default. value.c handles all kinds of parameters; the fast paths handle the common kinds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <slab/dirsrv/pblock.h>
#include <slab/dirsrv/profile.h>

#include "profile/record.h"

#define PBLOCK_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define PBLOCK_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* More than the largest number. */
#define PBLOCK_NUMBERS ((unsigned)SLAB_PBLOCK_NUMBERS)

/* Type and ownership of a value. The fast paths handle the first three. */
enum pblock_kind {
	PBLOCK_NONE, /* no such parameter */
	PBLOCK_POINTER,
	PBLOCK_WORD, /* 64 bits: uint64_t, unsigned long, time_t */
	PBLOCK_INT,
	PBLOCK_PRESET,     /* an int with another default than 0 */
	PBLOCK_ADDRESS,    /* struct slapi_pblock_address */
	PBLOCK_OWNED,      /* strings: set takes it, get lends it */
	PBLOCK_TEXT,       /* set copies, get lends */
	PBLOCK_OWNED_COPY, /* set takes, get copies */
	PBLOCK_TEXT_COPY,  /* set copies, get copies */
};

/* What a parameter of each kind is stored as. */
#define PBLOCK_STORED_POINTER(name) void *name
#define PBLOCK_STORED_INT(name) int name
#define PBLOCK_STORED_WORD(name) uint64_t name
#define PBLOCK_STORED_PRESET(name) int name
#define PBLOCK_STORED_ADDRESS(name) struct slapi_pblock_address name
#define PBLOCK_STORED_OWNED(name) void *name
#define PBLOCK_STORED_TEXT(name) void *name
#define PBLOCK_STORED_OWNED_COPY(name) void *name
#define PBLOCK_STORED_TEXT_COPY(name) void *name

static inline bool pblock_is_recording(void)
{
	return PBLOCK_UNLIKELY(__atomic_load_n(&pblock_recording, __ATOMIC_RELAXED));
}

/* Is the number in range, and is nothing recorded? One comparison checks both. */
static inline bool pblock_is_quick(int number)
{
	return (unsigned)number < __atomic_load_n(&pblock_quick_numbers, __ATOMIC_RELAXED);
}

#pragma GCC visibility push(hidden)

/* A parameter's properties, besides its place. */
struct pblock_parameter {
	uint16_t number;
	uint8_t kind;
	bool moves; /* slapi_pblock_clone() takes it away from the source */
};

/* All of them. */
extern const struct pblock_parameter pblock_parameters[];
extern const unsigned pblock_parameter_count;

/* pblock_value_get: slapi_pblock_get() of the parameter that is stored at `stored`. */
int pblock_value_get(enum pblock_kind kind, int number, const void *stored, void *value);

/* pblock_value_set: slapi_pblock_set() of the parameter that is stored at `stored`. */
int pblock_value_set(enum pblock_kind kind, int number, void *stored, void *value);

/* pblock_value_is_default: is this the default, which is stored as zeros? */
bool pblock_value_is_default(enum pblock_kind kind, int number, const void *value);

/* pblock_value_free: free the string that is stored there, and forget it. NULL is allowed. */
void pblock_value_free(void *stored);

/* pblock_make: slapi_pblock_new() without recording. */
Slapi_PBlock *pblock_make(void);

/* pblock_stored: where a parameter is stored; NULL: its part is absent. */
void *pblock_stored(Slapi_PBlock *pb, unsigned number);

/* pblock_stored_or_new: the same, but an absent part is created. NULL: no memory. */
void *pblock_stored_or_new(Slapi_PBlock *pb, unsigned number);

#pragma GCC visibility pop
