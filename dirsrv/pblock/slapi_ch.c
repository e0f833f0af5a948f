/* SPDX-License-Identifier: MIT */
/*
 * The memory functions of the plug-in interface: as slab_ch_malloc() and its relatives, except
 * that a size of 0 is no fatal error. What may be allocated with the caller as the call site is
 * so; for the rest the stack shows the caller second.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <slab/dirsrv/slapi_ch.h>
#include <slab/malloc.h>

/* A line for a size of 0. write() is a cancellation point, and these functions are none. */
static void note_zero(const char *function)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	dprintf(STDERR_FILENO, "libslab: %s: a size of 0 is not allowed\n", function);
	pthread_setcancelstate(cancel, NULL);
}

static char *allocate(size_t size, const void *caller)
{
	char *block = slab_malloc_from(size, caller);

	return block ? block : slab_ch_malloc(size);
}

char *slapi_ch_malloc(unsigned long size)
{
	if (size)
		return allocate(size, __builtin_return_address(0));
	note_zero("slapi_ch_malloc");
	return NULL;
}

char *slapi_ch_calloc(unsigned long nelem, unsigned long size)
{
	size_t bytes;

	if (!nelem || !size) {
		note_zero("slapi_ch_calloc");
		return NULL;
	}
	/* Large memory may be known to be zero. */
	if (__builtin_mul_overflow(nelem, size, &bytes) || bytes > SLAB_MALLOC_MAX_CACHED)
		return slab_ch_calloc(nelem, size);
	return memset(allocate(bytes, __builtin_return_address(0)), 0, bytes);
}

char *slapi_ch_realloc(char *block, unsigned long size)
{
	if (!block)
		return size ? allocate(size, __builtin_return_address(0)) : slapi_ch_malloc(0);
	if (size)
		return slab_ch_realloc(block, size);
	note_zero("slapi_ch_realloc");
	return block;
}

char *slapi_ch_memalign(uint32_t size, uint32_t alignment)
{
	if (size)
		return slab_ch_memalign(alignment, size);
	note_zero("slapi_ch_memalign");
	return NULL;
}

char *slapi_ch_strdup(const char *s)
{
	size_t bytes;

	if (!s)
		return NULL;
	bytes = strlen(s) + 1;
	return memcpy(allocate(bytes, __builtin_return_address(0)), s, bytes);
}

void slapi_ch_free(void **ptr)
{
	slab_ch_free(ptr);
}

void slapi_ch_free_string(char **s)
{
	slab_ch_free_string(s);
}
