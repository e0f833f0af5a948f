/* SPDX-License-Identifier: MIT */
/*
 * A library with functions of libslapd's names that allocate as libslapd's do: by calls that the
 * dynamic linker resolves, of the same sizes, some of them by a jump at their end.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *slapi_ch_malloc(unsigned long size);
void *slapi_ch_calloc(unsigned long n, unsigned long size);
char *slapi_ch_realloc(char *ptr, unsigned long size);
char *slapi_ch_strdup(const char *string);
void slapi_ch_free(void **ptr);

/* By a jump: the caller's return address is all that the allocator sees. */
void *slapi_pblock_new(void);
void *csn_new(void);
void *operation_parameters_new(void);

/* By a call. */
void *slapi_entry_alloc(void);
void *slapi_attr_new(void);
void *slapi_pblock_set(size_t size); /* a part of a pblock */
void *slapi_value_set_string(size_t size);
void *stub_unknown(size_t size);
void *stub_hidden(size_t size); /* of a function that the library does not export */

/* A constructor that allocates nothing. */
void *slapi_mods_new(void);

/* How often the stub's own slapi_ch_malloc(), calloc and strdup were called. */
extern unsigned long stub_calls;

#ifdef __cplusplus
}
#endif
