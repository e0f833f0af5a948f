/* SPDX-License-Identifier: MIT */
/*
 * The only file of the allocator that asks the operating system for memory.
 * Total functions: each either does what it says or, where it says so, gives
 * NULL; nothing here retries or reports.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "slab_internal.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#define MPOL_PREFERRED_POLICY 1

static void *map(size_t bytes)
{
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return start == MAP_FAILED ? NULL : start;
}

void *os_map(size_t bytes, size_t align)
{
	if (bytes + align < bytes) {
		errno = ENOMEM;
		return NULL;
	}

	/* Segments are mapped one below the other, so this is mostly aligned. */
	char *start = map(bytes);

	if (start && ((uintptr_t)start & (align - 1)) == 0)
		return start;
	if (start)
		munmap(start, bytes);
	start = map(bytes + align);
	if (!start) {
		errno = ENOMEM;
		return NULL;
	}

	size_t before = -(uintptr_t)start & (align - 1);

	if (before)
		munmap(start, before);
	if (align - before)
		munmap(start + before + bytes, align - before);
	return start + before;
}

void os_unmap(void *start, size_t bytes)
{
	munmap(start, bytes);
}

bool os_resize(void *start, size_t bytes, size_t to)
{
	return mremap(start, bytes, to, 0) != MAP_FAILED;
}

void os_populate(void *start, size_t bytes)
{
	int saved = errno;

	/* Without it (before Linux 5.14) pages come one by one, as always. */
	madvise(start, bytes, MADV_POPULATE_WRITE);
	errno = saved;
}

void os_discard(void *start, size_t bytes)
{
	int saved = errno;

	madvise(start, bytes, MADV_DONTNEED);
	errno = saved;
}

void os_protect(void *start, size_t bytes)
{
	mprotect(start, bytes, PROT_NONE);
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
