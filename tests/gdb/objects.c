/* SPDX-License-Identifier: MIT */
/* Objects in every state for the gdb commands to look at; then it aborts. */
#include "core/cache.h"

#include <sched.h>
#include <slab/debug.h>
#include <slab/malloc.h>
#include <slab/define.h>
#include <stdlib.h>

extern char *volatile allocated, *volatile freed, *volatile tracked, *volatile tracked_freed;
extern char *volatile sized, *volatile large, *volatile wide, *volatile legacy;
extern char *volatile fresh;
extern char *volatile in_array, *volatile in_magazine;
char *volatile allocated, *volatile freed, *volatile tracked, *volatile tracked_freed;
char *volatile sized, *volatile large, *volatile wide, *volatile legacy;
char *volatile fresh;
char *volatile in_array, *volatile in_magazine;

struct entry {
	char text[64];
};

SLAB_DEFINE_TYPED(entry, struct entry);

static inline __attribute__((always_inline)) void *entry_new(struct slab_cache *cache)
{
	return entry_alloc(cache);
}

static void stay_on_this_cpu(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET((size_t)sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
}

/* Free more objects than an array holds, until half of them go to a magazine; others are a
 * reserve. */
static void fill_magazine(void)
{
	const struct slab_cache_args args = {.reserve = 10};
	struct slab_cache *cache = slab_cache_create("held", 64, &args, 0);
	const struct depot *depot = &cache->node[0].depot;
	void *obj[1100];

	for (unsigned round = 0; round < 1000 && !depot->full; round++) {
		for (unsigned i = 0; i < 1100; i++)
			obj[i] = slab_alloc(cache);
		for (unsigned i = 0; i < 1100; i++)
			slab_free(cache, obj[i]);
	}
	in_array = obj[1099];
	in_magazine = depot->magazine[0]->obj[0];
}

int main(void)
{
	stay_on_this_cpu();

	struct slab_cache *plain = slab_cache_create("plain", 64, NULL, 0);
	struct slab_cache *entry = slab_cache_create("entry", 64, NULL, SLAB_DEBUG_DEFAULT);
	struct slab_cache *old = slab_cache_create("old", 64, NULL, 0);

	allocated = slab_alloc(plain);
	freed = slab_alloc(plain);
	fresh = allocated + 6400;
	slab_free(plain, freed);
	tracked = entry_new(entry);
	tracked_freed = slab_alloc(entry);
	slab_free(entry, tracked_freed);
	sized = slab_malloc(18);
	large = slab_malloc(100000);
	wide = slab_memalign((size_t)32 << 20, 100000);
	legacy = slab_alloc(old);
	slab_cache_debug(old, SLAB_DEBUG_DEFAULT);
	fill_magazine();
	abort();
}
