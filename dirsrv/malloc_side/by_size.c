/* SPDX-License-Identifier: MIT */
/* Memory by size is malloc() itself. */
#include <slab/malloc.h>

#include <stdlib.h>

void *slab_malloc(size_t size)
{
	return malloc(size);
}

void *slab_malloc_from(size_t size, const void *caller)
{
	(void)caller;
	return malloc(size);
}

void *slab_calloc(size_t n, size_t size)
{
	return calloc(n, size);
}

void *slab_realloc(void *block, size_t size)
{
	return realloc(block, size);
}

void *slab_memalign(size_t align, size_t size)
{
	void *block;

	return posix_memalign(&block, align, size) ? NULL : block;
}

void slab_mfree(void *block)
{
	free(block);
}
