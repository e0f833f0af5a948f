/* SPDX-License-Identifier: MIT */
/* Declarations as a server's own <slapi-plugin.h> has them, which <slab/dirsrv/slapi_ch.h> has to
 * get along with. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

char *slapi_ch_malloc(unsigned long size);
char *slapi_ch_memalign(uint32_t size, uint32_t alignment);
char *slapi_ch_realloc(char *block, unsigned long size);
char *slapi_ch_calloc(unsigned long nelem, unsigned long size);
char *slapi_ch_strdup(const char *s);
void slapi_ch_free(void **ptr);
void slapi_ch_free_string(char **s);

#ifdef __cplusplus
}
#endif
