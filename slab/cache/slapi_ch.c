/* SPDX-License-Identifier: MIT */
/*
 * slab_ch_malloc() and its relatives, with the contract of 389-ds: they never return NULL. If an
 * allocation fails, they call the handler of slab_set_oom_handler(), or write a message and abort.
 */
#include <errno.h>
#include <slab/malloc.h>
#include <string.h>

#include "base/note.h"
#include "cache/nofail.h"

static struct need need_of(const char *function, size_t n, size_t size)
{
	return (struct need){.function = function, .n = n, .size = size, .errno_before = errno};
}

/* A size of 0 is fatal: it is nearly always a programming error. */
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

static void *ch_malloc(size_t size, const void *caller)
{
	struct need need = need_of("slab_ch_malloc", 1, size);
	void *ptr;

	check_size(need.function, 1, size);
	while (!(ptr = slab_malloc_from(size, caller)))
		need_again(&need);
	return ptr;
}

void *slab_ch_malloc(size_t size)
{
	return ch_malloc(size, __builtin_return_address(0));
}

void *slab_ch_calloc(size_t n, size_t size)
{
	struct need need = need_of("slab_ch_calloc", n, size);
	void *ptr;

	check_size(need.function, n, size);
	while (!(ptr = slab_calloc(n, size)))
		need_again(&need);
	return ptr;
}

void *slab_ch_realloc(void *ptr, size_t size)
{
	struct need need = need_of("slab_ch_realloc", 1, size);
	void *to;

	check_size(need.function, 1, size);
	while (!(to = slab_realloc(ptr, size)))
		need_again(&need);
	return to;
}

void *slab_ch_memalign(size_t align, size_t size)
{
	struct need need = need_of("slab_ch_memalign", 1, size);
	void *ptr;

	check_size(need.function, 1, size);
	if (!align || align & (align - 1))
		slab_fatal("slab_ch_memalign(%zu, %zu bytes): the alignment is no power of two",
			   align, size);
	while (!(ptr = slab_memalign(align, size)))
		need_again(&need);
	return ptr;
}

char *slab_ch_strdup(const char *string)
{
	size_t bytes;

	if (!string)
		return NULL;
	bytes = strlen(string) + 1;
	return memcpy(ch_malloc(bytes, __builtin_return_address(0)), string, bytes);
}
