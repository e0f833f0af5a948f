/* SPDX-License-Identifier: MIT */
/* An allocation function of a program, and what passes types on to it. */
#include <slab/token.h>
#include <stdlib.h>

#include "token_entries.h"

void *wrapped_alloc(size_t n, size_t size);
void *__alloc_token_wrapped_alloc(size_t n, size_t size, uint64_t token);

/* As the compiler has it: the call within has no type of its own. */
void *wrapped_alloc(size_t n, size_t size)
{
	return __alloc_token_malloc(n * size, 0);
}

SLAB_TOKEN_WRAPPER(void *, wrapped_alloc, (size_t n, size_t size), (n, size))
