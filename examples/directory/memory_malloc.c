/* SPDX-License-Identifier: MIT */
/* The malloc side has nothing to prepare and no caches to show. */
#include "memory.h"
#include "result.h"

#include <stdio.h>
#include <stdlib.h>

int memory_setup(void)
{
	return 0;
}

int memory_teardown(void)
{
	return 0;
}

void memory_caches(struct result *result)
{
	result->caches = 0;
}

void memory_exhausted(size_t bytes)
{
	fprintf(stderr, "directory: out of memory: malloc has no %zu bytes more\n", bytes);
	exit(1);
}
