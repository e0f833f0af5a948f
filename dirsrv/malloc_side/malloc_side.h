/* SPDX-License-Identifier: MIT */
/*
 * The functions of <slab/slab.h>, <slab/malloc.h>, <slab/memory.h> and <slab/stats.h> that
 * libslab_dirsrv and its programs call, on malloc(): as a server has them before it has caches.
 * A program that is linked with this library in place of libslab uses malloc() alone.
 */
#pragma once

/*
 * malloc_side_freed_at_once: the name of the cache with SLAB_TYPESAFE_BY_RCU whose objects
 * slab_free() gives to free() at once, to malloc's advantage. The program defines it: in the
 * program no thread looks for such an object after another thread has freed it. The objects of
 * the other caches with this flag wait for a grace period of liburcu.
 */
extern const char malloc_side_freed_at_once[];
