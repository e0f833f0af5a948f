/* SPDX-License-Identifier: MIT */
/*
 * Announcing objects to valgrind and AddressSanitizer.
 *
 * Both replace malloc to know what memory is whose; an object of a slab is just
 * a part of some mapping to them. Under one of them every cache is served as if
 * it had a debug flag of its own (DEBUG_FLAG_TOOL): its slabs are debug slabs with red
 * zones, which are inaccessible, instead of patterns, and objects are announced
 * as they come and go. So memcheck and ASan see them as they see malloc's.
 *
 * SLAB_TOOLS=off leaves them in the dark, which is as fast as ever.
 */
#ifndef SLAB_REPORT_ANNOTATE_H
#define SLAB_REPORT_ANNOTATE_H

#include <stdbool.h>
#include <stddef.h>

/* Is this process run by one of them, and are objects announced to it? */
bool annotate_is_on(void);

/* An object is handed out, with a defined content or not; it is taken back. */
void annotate_alloc(const void *obj, size_t size, bool defined);
void annotate_free(const void *obj, size_t size);
void annotate_resize(const void *obj, size_t old, size_t size);
/* Make memory inaccessible; accessible for the library itself. */
void annotate_hide(const void *start, size_t size);
void annotate_show(const void *start, size_t size);

#endif /* SLAB_REPORT_ANNOTATE_H */
