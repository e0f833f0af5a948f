/* SPDX-License-Identifier: MIT */
/* Memory by size for callers that cannot do without: they abort. */
#include <slab/malloc.h>

#include <stdio.h>
#include <stdlib.h>

static void *or_abort(void *block, size_t size)
{
	if (block)
		return block;
	fprintf(stderr, "out of memory: malloc has no %zu bytes\n", size);
	abort();
}

void *slab_ch_malloc(size_t size)
{
	return or_abort(malloc(size), size);
}

void *slab_ch_calloc(size_t n, size_t size)
{
	return or_abort(calloc(n, size), n * size);
}

void *slab_ch_realloc(void *block, size_t size)
{
	return or_abort(realloc(block, size), size);
}

void *slab_ch_memalign(size_t align, size_t size)
{
	return or_abort(slab_memalign(align, size), size);
}

void slab_ch_free(void **block)
{
	if (!block)
		return;
	free(*block);
	*block = NULL;
}

void slab_ch_free_string(char **string)
{
	if (!string)
		return;
	free(*string);
	*string = NULL;
}
