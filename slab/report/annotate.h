/* SPDX-License-Identifier: MIT */
/*
 * Announcing objects to valgrind, AddressSanitizer and ThreadSanitizer.
 *
 * These tools replace malloc to follow allocations; to them an object of a slab is only a part of
 * a mapping. Under one of them every cache behaves as if it had another debug flag
 * (DEBUG_FLAG_TOOL): its slabs are debug slabs with inaccessible red zones instead of patterns,
 * and libslab announces each allocation and free. So memcheck and ASan treat objects like those
 * of malloc, and ThreadSanitizer learns that a free happens before the object's next allocation.
 *
 * ThreadSanitizer sees the locks of libslab and its mappings, too, and takes a mapping for a write;
 * it does not see how a thread gets a cache that another thread has created in a new mapping. Hence
 * annotate_publish() and annotate_use().
 *
 * With SLAB_TOOLS=off libslab announces nothing and is as fast as without the tools.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Does the process run under one of the tools, with SLAB_TOOLS=auto? */
bool annotate_is_on(void);

/* Announce an allocation, a free, a resize. `defined`: the contents are initialized. */
void annotate_alloc(const void *obj, size_t size, bool defined);
void annotate_free(const void *obj, size_t size);
void annotate_resize(const void *obj, size_t old, size_t size);
/* What a thread did before it published this cache or object happens before another thread's
 * use. */
void annotate_publish(const void *what);
void annotate_use(const void *what);
/* Make memory inaccessible; make it accessible to libslab itself. */
void annotate_hide(const void *start, size_t size);
void annotate_show(const void *start, size_t size);
