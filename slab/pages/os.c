/* SPDX-License-Identifier: MIT */
/*
 * System calls for address space and memory. In slab/, only control/json.c also maps memory, for
 * its buffer; cpu_cache maps the slots. No function here retries or reports. Each returns NULL or
 * false on failure if its comment says so, and ignores failures otherwise.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pages/os.h"
#include "base/probe.h"
#include "base/compiler.h"
#include "base/fail.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#define MPOL_PREFERRED_POLICY 1
#define FAR_TRIES 16u
#define PAGES_MAX 16 /* of an object: more than an object of SLAB_MAX_OBJECT_SIZE has */

#ifdef SLAB_TESTING
/* SLAB_TEST_PAGE_SIZE simulates a machine with larger pages. */
static size_t pretended(size_t size)
{
	const char *text = getenv("SLAB_TEST_PAGE_SIZE");

	return text ? strtoul(text, NULL, 10) : size;
}

unsigned os_protect_fails;

static bool protect_fails(void)
{
	return os_protect_fails && --os_protect_fails == 0;
}

/* Abort where such a machine would return an error. */
static void check_pages(const void *start, size_t bytes)
{
	if (((uintptr_t)start | bytes) & (os_page_size() - 1))
		abort();
}
#else
static size_t pretended(size_t size)
{
	return size;
}

static bool protect_fails(void)
{
	return false;
}

static void check_pages(const void *start, size_t bytes)
{
	(void)start;
	(void)bytes;
}
#endif

size_t os_page_size(void)
{
	static SLAB_EARLY size_t size;
	size_t known = __atomic_load_n(&size, __ATOMIC_RELAXED);

	if (SLAB_UNLIKELY(!known)) {
		known = pretended(getauxval(AT_PAGESZ));
		__atomic_store_n(&size, known, __ATOMIC_RELAXED);
	}
	return known;
}

/* Without MAP_NORESERVE: the kernel refuses memory that the machine does not have, as it does for
 * the C library. Pages that are inaccessible count when os_protect() makes them accessible. */
static void *map(void *hint, size_t bytes, int access)
{
	void *start = mmap(hint, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return start == MAP_FAILED ? NULL : start;
}

/* Where the last aligned mapping starts, or the end of a range that was unmapped since: the next
 * one goes below it. Atomic. */
static SLAB_EARLY char *next_end;

static char *align_down(const void *address, size_t align)
{
	return (char *)((uintptr_t)address & ~(align - 1));
}

/* Map at an aligned address below `hint`, or where the kernel prefers it if that is aligned. */
static char *map_below(char *hint, size_t bytes, size_t align, int access, char **ret_preferred)
{
	char *start = map(align_down(hint, align), bytes, access);

	if (!start || start == align_down(start, align))
		return start;
	munmap(start, bytes);
	*ret_preferred = start;
	return NULL;
}

/* Map more than needed, and unmap what lies before and behind. */
static char *map_within(size_t bytes, size_t align, int access)
{
	char *start = map(NULL, bytes + align, access);
	size_t before = -(uintptr_t)start & (align - 1);

	if (!start)
		return NULL;
	if (before)
		munmap(start, before);
	if (align - before)
		munmap(start + before + bytes, align - before);
	return start + before;
}

/* Where there is no space to map more than needed: try aligned addresses further and further
 * below. */
static char *map_far_below(char *preferred, size_t bytes, size_t align, int access)
{
	char *start = NULL, *ignored;

	for (unsigned i = 1; !start && i <= FAR_TRIES && (uintptr_t)preferred > i * align; i++)
		start = map_below(preferred - i * align, bytes, align, access, &ignored);
	return start;
}

/* The kernel maps one below the other. So in most cases the address below the last mapping is free;
 * otherwise the one below the address that the kernel chooses. */
static char *map_aligned(size_t bytes, size_t align, int access)
{
	char *end = __atomic_load_n(&next_end, __ATOMIC_RELAXED), *preferred = NULL, *start;
	bool known = (uintptr_t)end > bytes && align > os_page_size();

	start = map_below(known ? end - bytes : NULL, bytes, align, access, &preferred);
	if (!start && preferred)
		start = map_below(preferred, bytes, align, access, &preferred);
	if (!start)
		start = map_within(bytes, align, access);
	if (!start && preferred)
		start = map_far_below(preferred, bytes, align, access);
	if (start && align > os_page_size())
		__atomic_store_n(&next_end, start, __ATOMIC_RELAXED);
	return start;
}

static void *map_pages(size_t bytes, size_t align, int access)
{
	char *start = NULL;

	if (align < os_page_size())
		align = os_page_size();
	if (bytes + align >= bytes && !fail_pages())
		start = map_aligned(os_pages(bytes), align, access);
	if (!start)
		errno = ENOMEM;
	return start;
}

void *os_map(size_t bytes, size_t align)
{
	return map_pages(bytes, align, PROT_READ | PROT_WRITE);
}

void *os_reserve(size_t bytes, size_t align)
{
	return map_pages(bytes, align, PROT_NONE);
}

bool os_may_map(size_t bytes)
{
	void *start = map(NULL, os_pages(bytes), PROT_READ | PROT_WRITE);

	return start && munmap(start, os_pages(bytes)) == 0;
}

bool os_map_at(void *start, size_t bytes)
{
	void *at;

	if (fail_pages()) {
		errno = ENOMEM;
		return false;
	}
	at = mmap(start, bytes, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (at == start)
		return true;
	if (at == MAP_FAILED)
		return false;
	munmap(at, bytes); /* Linux before 4.17 takes the address for a hint */
	errno = EEXIST;
	return false;
}

void *os_map_once(void **at, size_t bytes)
{
	void *memory = __atomic_load_n(at, __ATOMIC_ACQUIRE), *none = NULL;

	if (memory)
		return memory;
	memory = os_map(bytes, 1);
	if (!memory || __atomic_compare_exchange_n(at, &none, memory, false, __ATOMIC_ACQ_REL,
						   __ATOMIC_ACQUIRE))
		return memory;
	os_unmap(memory, bytes);
	return none;
}

bool os_unmap(void *start, size_t bytes)
{
	check_pages(start, 0);
	if (munmap(start, os_pages(bytes)) != 0)
		return false;
	/* An aligned mapping of this size gets the same addresses again. */
	if ((char *)start >= __atomic_load_n(&next_end, __ATOMIC_RELAXED))
		__atomic_store_n(&next_end, (char *)start + bytes, __ATOMIC_RELAXED);
	return true;
}

bool os_resize(void *start, size_t bytes, size_t to)
{
	check_pages(start, bytes | to);
	return mremap(start, bytes, to, 0) != MAP_FAILED;
}

bool os_move(void *start, size_t bytes, void *to, size_t to_bytes)
{
	check_pages(start, bytes | to_bytes);
	return mremap(start, bytes, to_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED;
}

void os_populate(void *start, size_t bytes)
{
	int saved = errno;

	check_pages(start, bytes);
	/* Before Linux 5.14 this fails, and page faults populate one page at a time. */
	madvise(start, bytes, MADV_POPULATE_WRITE);
	errno = saved;
}

bool os_discard(void *start, size_t bytes)
{
	int saved = errno;
	bool done;

	check_pages(start, bytes);
	done = madvise(start, bytes, MADV_DONTNEED) == 0;
	if (done)
		SLAB_PROBE(memory_discard, start, bytes);
	errno = saved;
	return done;
}

void os_keep_small(void *start, size_t bytes)
{
	int saved = errno;

	check_pages(start, bytes);
	madvise(start, bytes, MADV_NOHUGEPAGE);
	errno = saved;
}

bool os_protect(void *start, size_t bytes, bool access)
{
	int saved = errno;
	bool done;

	check_pages(start, bytes);
	done = !protect_fails() &&
	       mprotect(start, bytes, access ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
	errno = saved;
	return done;
}

void os_bind(void *start, size_t bytes, unsigned node)
{
	unsigned long mask[4] = {0};
	int saved = errno;

	if (node < 8 * sizeof(mask)) {
		mask[node / (8 * sizeof(mask[0]))] |= 1UL << node % (8 * sizeof(mask[0]));
		syscall(SYS_mbind, start, bytes, MPOL_PREFERRED_POLICY, mask, 8 * sizeof(mask) + 1,
			0);
	}
	errno = saved;
}

bool os_lies_on(void *start, size_t bytes, unsigned node)
{
	const size_t page_size = os_page_size();
	char *first = (char *)((uintptr_t)start & ~(uintptr_t)(page_size - 1));
	int status[PAGES_MAX], saved = errno;
	void *page[PAGES_MAX];
	unsigned n = 0;
	bool known;

	for (char *p = first; p < (char *)start + bytes && n < PAGES_MAX; p += page_size, n++) {
		/* A write that changes nothing, so it may race with writes of other threads. */
		__atomic_fetch_or(p < (char *)start ? (char *)start : p, 0, __ATOMIC_RELAXED);
		page[n] = p;
	}
	known = syscall(SYS_move_pages, 0, n, page, NULL, status, 0) == 0;
	errno = saved;
	for (unsigned i = 0; known && i < n; i++)
		if (status[i] >= 0 && (unsigned)status[i] != node)
			return false;
	return true;
}
