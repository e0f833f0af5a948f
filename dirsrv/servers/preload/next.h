/* SPDX-License-Identifier: MIT */
/*
 * The functions behind those of this library: what the process would call without it, such as
 * the slapi_ch_malloc() of libslapd and the free() of jemalloc.
 */
#ifndef PRELOAD_NEXT_H
#define PRELOAD_NEXT_H

#include <stddef.h>

enum next_function {
	NEXT_FREE,
	NEXT_REALLOC,
	NEXT_USABLE_SIZE,
	NEXT_CH_MALLOC,
	NEXT_CH_CALLOC,
	NEXT_CH_STRDUP,
	NEXT_PBLOCK_NEW,
	NEXT_OPERATION_PARAMETERS_NEW,
	NEXT_CSN_NEW,
	NEXT_MODS_NEW,
	NEXT_MOD_NEW,
	NEXT_MATCHINGRULE_NEW,
	NEXT_UNIQUEID_NEW,
	NEXT_DATALIST_NEW,
	NEXT_FUNCTIONS
};

typedef void (*next_pointer)(void); /* the caller knows the type */

extern next_pointer next_table[NEXT_FUNCTIONS];

/* Look a function up. NULL while this thread is looking one up already: dlsym() may itself free
 * memory. The process aborts if there is no such function. */
next_pointer next_find(enum next_function function);

static inline next_pointer next_of(enum next_function function)
{
	next_pointer found = __atomic_load_n(&next_table[function], __ATOMIC_RELAXED);

	return __builtin_expect(found != NULL, 1) ? found : next_find(function);
}

#endif /* PRELOAD_NEXT_H */
