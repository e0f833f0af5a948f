/* SPDX-License-Identifier: MIT */
/*
 * libslab as the malloc of a program that does not know it, by LD_PRELOAD: whatever the C
 * library allocates comes here, and also what it allocates for libslab itself, to create a
 * thread or to register a fork handler.
 *
 * open() allocates, as fopen() and opendir() do: libslab reads files while it initializes
 * itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <slab/malloc.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void *malloc(size_t size)
{
	return slab_malloc(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	return slab_calloc(n, size);
}

EXPORT void *realloc(void *ptr, size_t size)
{
	return slab_realloc(ptr, size);
}

EXPORT void free(void *ptr)
{
	slab_mfree(ptr);
}

EXPORT void *memalign(size_t align, size_t size)
{
	return slab_memalign(align, size);
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
	return slab_memalign(align, size);
}

EXPORT int posix_memalign(void **ptr, size_t align, size_t size)
{
	void *memory = slab_memalign(align, size);

	if (!memory)
		return ENOMEM;
	*ptr = memory;
	return 0;
}

EXPORT size_t malloc_usable_size(void *ptr)
{
	return slab_usable_size(ptr);
}

EXPORT int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode = 0;

	if (flags & (O_CREAT | O_TMPFILE)) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	slab_mfree(slab_malloc(100));
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
