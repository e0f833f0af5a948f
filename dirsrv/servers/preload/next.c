/* SPDX-License-Identifier: MIT */
/* See next.h. */
#include "next.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

next_pointer next_table[NEXT_FUNCTIONS];

static const char *const names[NEXT_FUNCTIONS] = {
	[NEXT_FREE] = "free",
	[NEXT_REALLOC] = "realloc",
	[NEXT_USABLE_SIZE] = "malloc_usable_size",
	[NEXT_CH_MALLOC] = "slapi_ch_malloc",
	[NEXT_CH_CALLOC] = "slapi_ch_calloc",
	[NEXT_CH_STRDUP] = "slapi_ch_strdup",
	[NEXT_PBLOCK_NEW] = "slapi_pblock_new",
	[NEXT_OPERATION_PARAMETERS_NEW] = "operation_parameters_new",
	[NEXT_CSN_NEW] = "csn_new",
	[NEXT_MODS_NEW] = "slapi_mods_new",
	[NEXT_MOD_NEW] = "slapi_mod_new",
	[NEXT_MATCHINGRULE_NEW] = "slapi_matchingrule_new",
	[NEXT_UNIQUEID_NEW] = "slapi_uniqueIDNew",
	[NEXT_DATALIST_NEW] = "dl_new",
};

static __thread int is_finding __attribute__((tls_model("initial-exec")));

__attribute__((cold, noinline)) next_pointer next_find(enum next_function function)
{
	next_pointer found;

	if (is_finding)
		return NULL;
	is_finding = 1;
	*(void **)&found = dlsym(RTLD_NEXT, names[function]);
	is_finding = 0;
	if (!found) {
		fprintf(stderr, "libslab-389ds: no library of the process has %s()\n",
			names[function]);
		abort();
	}
	__atomic_store_n(&next_table[function], found, __ATOMIC_RELAXED);
	return found;
}
