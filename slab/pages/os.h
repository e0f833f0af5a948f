/* SPDX-License-Identifier: MIT */
/* The operating system: address space and memory. */
#ifndef SLAB_PAGES_OS_H
#define SLAB_PAGES_OS_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a page: a power of two, 4 to 64 KiB. */
size_t os_page_size(void);

/* n bytes, rounded up to whole pages. */
static inline size_t os_pages(size_t n)
{
	return (n + os_page_size() - 1) & ~(os_page_size() - 1);
}

/* Address space, zeroed, readable and writable; NULL and ENOMEM, also by fault injection.
 * It starts at a page, or is aligned to more than that. */
void *os_map(size_t bytes, size_t align);
void os_unmap(void *start, size_t bytes);
/* Change the length of a mapping without moving it. */
bool os_resize(void *start, size_t bytes, size_t to);
/* Take page faults of a range in one go; best effort. */
void os_populate(void *start, size_t bytes);
/* Give the memory back, keep the address space; false: it is locked (mlock(2)). */
bool os_discard(void *start, size_t bytes);
/* Make whole pages inaccessible, or accessible again; false: there are too many mappings. */
bool os_protect(void *start, size_t bytes, bool access);
#ifdef SLAB_TESTING
/* N: the N-th call of os_protect() from now on fails; 0: none. */
extern unsigned os_protect_fails;
#endif
void os_bind(void *start, size_t bytes, unsigned node);
/* Is this memory, which is the caller's, on that node? Makes it be there first. True where
 * the system does not report it. */
bool os_lies_on(void *start, size_t bytes, unsigned node);

#endif /* SLAB_PAGES_OS_H */
