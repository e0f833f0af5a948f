/* SPDX-License-Identifier: MIT */
/*
 * Included before the sources of malloc/: gives the functions that they define other names. The
 * headers that they include come first, since there "malloc" is also an attribute.
 */
#pragma once

#include <malloc.h>
#include <stdlib.h>

#include <slab/malloc.h>

#include "layer.h"
#include "malloc/family.h"
#include "malloc/tick.h"

#define malloc layer_malloc
#define calloc layer_calloc
#define realloc layer_realloc
#define reallocarray layer_reallocarray
#define aligned_alloc layer_aligned_alloc
#define memalign layer_memalign
#define posix_memalign layer_posix_memalign
#define valloc layer_valloc
#define pvalloc layer_pvalloc
#define free layer_free
#define cfree layer_cfree
#define free_sized layer_free_sized
#define free_aligned_sized layer_free_aligned_sized
#define malloc_usable_size layer_malloc_usable_size
