/* SPDX-License-Identifier: MIT */
/* The malloc side: ../malloc_side has the functions of libslab. There is nothing to look at. */
#include "malloc_side.h"
#include "memory.h"

const char memory_name[] = "malloc";

/* No thread looks for an operation after its listener has given it up. */
const char malloc_side_freed_at_once[] = "operation";

uint64_t memory_pblocks(void)
{
	return 0;
}

void memory_exhausted(void)
{
	fprintf(stderr, "directory: out of memory: malloc has no more\n");
	exit(1);
}
