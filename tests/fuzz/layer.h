/* SPDX-License-Identifier: MIT */
/* The functions of malloc/ under the names that they have in the target malloc. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *layer_malloc(size_t size);
void *layer_calloc(size_t n, size_t size);
void *layer_realloc(void *ptr, size_t size);
void *layer_reallocarray(void *ptr, size_t n, size_t size);
void *layer_aligned_alloc(size_t align, size_t size);
void *layer_memalign(size_t align, size_t size);
int layer_posix_memalign(void **ret_ptr, size_t align, size_t size);
void *layer_valloc(size_t size);
void *layer_pvalloc(size_t size);
void layer_free(void *ptr);
void layer_cfree(void *ptr);
void layer_free_sized(void *ptr, size_t size);
void layer_free_aligned_sized(void *ptr, size_t align, size_t size);
size_t layer_malloc_usable_size(void *ptr);

#ifdef __cplusplus
}
#endif
