/* SPDX-License-Identifier: MIT */
/* A shared library with a definition. Its constructor allocates, before main() of the program. */
#include "define_library.h"

static struct thing *early;

static __attribute__((constructor)) void allocate_early(void)
{
	early = thing_zalloc();
}

struct thing *library_take_early(void)
{
	struct thing *taken = early;

	early = NULL;
	return taken;
}

struct slab_cache *library_cache(void)
{
	return thing_cache();
}

void library_free(struct thing *thing)
{
	thing_free(thing);
}
