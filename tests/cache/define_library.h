/* SPDX-License-Identifier: MIT */
/* What a library and its user have in common: a type with its cache. */
#pragma once

#include <slab/define.h>

struct thing {
	int number;
	char text[50];
};
SLAB_DEFINE_CACHE(thing, struct thing);

/* The object that the library allocated when it was loaded. */
struct thing *library_take_early(void);
struct slab_cache *library_cache(void);
void library_free(struct thing *thing);
