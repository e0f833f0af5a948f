/* SPDX-License-Identifier: MIT */
/* The operating system: address space, memory, and nodes of pages. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The size of a page: a power of two, 4 to 64 KiB. */
size_t os_page_size(void);

/* n rounded up to whole pages. */
static inline size_t os_pages(size_t n)
{
	return (n + os_page_size() - 1) & ~(os_page_size() - 1);
}

/* Map zeroed memory, readable and writable, aligned to a page or to `align` if that is more. NULL
 * and ENOMEM; fault injection can cause this too. */
void *os_map(size_t bytes, size_t align);
/* As os_map(), but the pages are inaccessible and count as no memory: address space alone. */
void *os_reserve(size_t bytes, size_t align);
/* As os_map(), at this address. false and EEXIST: the address is in use; ENOMEM: no memory. */
bool os_map_at(void *start, size_t bytes);
/* What *at leads to; if that is NULL, it is mapped first, whatever thread is faster. NULL: there is
 * no memory. */
void *os_map_once(void **at, size_t bytes);
/* false: the process has too many mappings. */
bool os_unmap(void *start, size_t bytes);
/* Would the system map this number of bytes now? */
bool os_may_map(size_t bytes);
/* Change the length of a mapping without moving it. */
bool os_resize(void *start, size_t bytes, size_t to);
/* Move a mapping with its pages to `to`, in place of what is mapped there, and change its length.
 * false: nothing has changed. */
bool os_move(void *start, size_t bytes, void *to, size_t to_bytes);
/* Populate a range in one call. Failures are ignored. */
void os_populate(void *start, size_t bytes);
/* Return the memory to the OS and keep the address space. false: the memory is locked
 * (mlock(2)). */
bool os_discard(void *start, size_t bytes);
/* Let the kernel make no huge pages of a range by itself. */
void os_keep_small(void *start, size_t bytes);
/* Make whole pages inaccessible, or accessible. false: the process has too many mappings, or may
 * not have so much memory. */
bool os_protect(void *start, size_t bytes, bool access);
#ifdef SLAB_TESTING
/* N: the N-th call of os_protect() from now on fails; 0: no call fails. */
extern unsigned os_protect_fails;
#endif
void os_bind(void *start, size_t bytes, unsigned node);
/* Does this memory lie on that node? The caller owns the memory. The function first populates its
 * pages. true if the system does not report nodes. */
bool os_lies_on(void *start, size_t bytes, unsigned node);
