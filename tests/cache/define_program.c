/* SPDX-License-Identifier: MIT */
/* A program and a shared library with the same definition: one frees what the other allocated. */
#include <stdio.h>

#include <slab/stats.h>

#include "define_library.h"

static unsigned failures;

static void expect(int holds, const char *what)
{
	if (holds)
		return;
	printf("define_program: %s\n", what);
	failures++;
}

int main(void)
{
	struct slab_stats stats = {.struct_size = sizeof(stats)};
	struct thing *early = library_take_early(), *mine = thing_alloc();

	expect(early && mine, "both have an object");
	expect(thing_cache() == library_cache(), "both have one cache");
	thing_free(early);
	library_free(mine);
	expect(!slab_cache_stats(thing_cache(), &stats) && !stats.objects && !stats.errors,
	       "each frees what the other allocated");
	return failures != 0;
}
