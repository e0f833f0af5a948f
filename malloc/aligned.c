/* SPDX-License-Identifier: MIT */
/* Aligned memory. The functions differ in the alignments that they accept. */
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <slab/malloc.h>

#include "family.h"

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* EINVAL for an alignment that is no power of two, as C23 and newer C libraries have it. */
void *aligned_alloc(size_t align, size_t size)
{
	return slab_memalign(align, size);
}

/* As in the C library, an alignment that is no power of two becomes the next one. */
void *memalign(size_t align, size_t size)
{
	size_t power = sizeof(void *);

	if (align > SIZE_MAX / 2 + 1) {
		errno = EINVAL;
		return NULL;
	}
	while (power < align)
		power *= 2;
	return slab_memalign(power, size);
}

/* The error is returned; errno and, on failure, *ret_ptr stay as they are. */
int posix_memalign(void **ret_ptr, size_t align, size_t size)
{
	const int saved = errno;
	void *ptr;

	if (align % sizeof(void *) || !is_power_of_two(align))
		return EINVAL;
	ptr = slab_memalign_from(align, size, __builtin_return_address(0));
	errno = saved;
	if (!ptr)
		return ENOMEM;
	*ret_ptr = ptr;
	return 0;
}

void *valloc(size_t size)
{
	return slab_memalign(page_size(), size);
}

/* Whole pages. */
void *pvalloc(size_t size)
{
	const size_t page = page_size();

	if (size > SIZE_MAX - page) {
		errno = ENOMEM;
		return NULL;
	}
	return slab_memalign(page, (size + page - 1) & ~(page - 1));
}
