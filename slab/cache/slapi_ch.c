/* SPDX-License-Identifier: MIT */
/*
 * slab_ch_malloc() and its relatives, with the contract of 389-ds: they never return NULL. If an
 * allocation fails, they write a message and abort, since a directory server cannot continue
 * without memory.
 */
#include <errno.h>
#include <slab/malloc.h>
#include <string.h>

#include "base/note.h"

static void *check(void *ptr, const char *function, size_t n, size_t size)
{
	if (!ptr)
		slab_fatal("%s(%zu x %zu bytes) failed: %s", function, n, size, strerror(errno));
	return ptr;
}

/* A size of 0 is fatal, as in 389-ds: it is nearly always a programming error. */
static void check_size(const char *function, size_t n, size_t size)
{
	if (!n || !size)
		slab_fatal("%s(%zu x %zu bytes): a size of 0 is not allowed", function, n, size);
}

void slab_ch_free(void **ptr)
{
	if (!ptr)
		return;
	slab_mfree(*ptr);
	*ptr = NULL;
}

void slab_ch_free_string(char **ptr)
{
	if (!ptr)
		return;
	slab_mfree(*ptr);
	*ptr = NULL;
}

void *slab_ch_malloc(size_t size)
{
	check_size("slab_ch_malloc", 1, size);
	return check(slab_malloc(size), "slab_ch_malloc", 1, size);
}

void *slab_ch_calloc(size_t n, size_t size)
{
	check_size("slab_ch_calloc", n, size);
	return check(slab_calloc(n, size), "slab_ch_calloc", n, size);
}

void *slab_ch_realloc(void *ptr, size_t size)
{
	check_size("slab_ch_realloc", 1, size);
	return check(slab_realloc(ptr, size), "slab_ch_realloc", 1, size);
}

void *slab_ch_memalign(size_t align, size_t size)
{
	check_size("slab_ch_memalign", 1, size);
	if (!align || align & (align - 1))
		slab_fatal("slab_ch_memalign(%zu, %zu bytes): the alignment is no power of two",
			   align, size);
	return check(slab_memalign(align, size), "slab_ch_memalign", 1, size);
}

char *slab_ch_strdup(const char *string)
{
	size_t bytes;

	if (!string)
		return NULL;
	bytes = strlen(string) + 1;
	return memcpy(slab_ch_malloc(bytes), string, bytes);
}
