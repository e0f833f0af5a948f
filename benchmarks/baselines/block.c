/* SPDX-License-Identifier: MIT */
/* Blocks of the C library with a header. */
#include <errno.h>
#include <stdint.h>

#include "block.h"

void *block_new(size_t size, size_t capacity)
{
	char *start = capacity > SIZE_MAX - HEADER ? NULL : __libc_malloc(capacity + HEADER);

	if (!start) {
		errno = ENOMEM;
		return NULL;
	}
	*(struct header *)start = (struct header){size, HEADER};
	return start + HEADER;
}

void block_delete(void *ptr)
{
	__libc_free((char *)ptr - header_of(ptr)->offset);
}
