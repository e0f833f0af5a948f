/* SPDX-License-Identifier: MIT */
/*
 * The functions of libslapd that this library stands before. Those that end with a jump to
 * slapi_ch_malloc() or slapi_ch_calloc() are here so that the allocation has their name.
 */
#ifndef PRELOAD_SLAPI_H
#define PRELOAD_SLAPI_H

#include <slab/slab.h>

SLAB_API void *slapi_ch_malloc(unsigned long size);
SLAB_API void *slapi_ch_calloc(unsigned long n, unsigned long size);
SLAB_API char *slapi_ch_strdup(const char *string);

SLAB_API void *slapi_pblock_new(void);
SLAB_API void *operation_parameters_new(void);
SLAB_API void *csn_new(void);
SLAB_API void *slapi_mods_new(void);
SLAB_API void *slapi_mod_new(void);
SLAB_API void *slapi_matchingrule_new(void);
SLAB_API void *slapi_uniqueIDNew(void);
SLAB_API void *dl_new(void);

#endif /* PRELOAD_SLAPI_H */
