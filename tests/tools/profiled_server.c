/* SPDX-License-Identifier: MIT */
/*
 * A process with a heap profile that is known: three functions that allocate. It prints "ready" and
 * stays until its standard input ends.
 *
 *   keep_entries  28,480,000 bytes of objects of a cache, all in use: keep_entry() and
 *                 fill_entries() are inlined in it
 *   churn_text    96,000,000 bytes of strings, freed at once
 *   keep_blocks   20,000,000 bytes of large allocations, half of them freed
 *
 * With the word "plain" nothing is profiled unless SLAB_PROFILE says so; otherwise the profile is
 * switched on here.
 */
#include <slab/debug.h>
#include <slab/malloc.h>
#include <slab/define.h>

#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define INLINE __attribute__((always_inline))

#define ENTRIES 40000
#define TEXTS 2000000
#define BLOCKS 200

/* Pointers that the compiler cannot follow. */
static void *volatile kept[ENTRIES];
static void *volatile block[BLOCKS];
static void *volatile text;

struct entry {
	char bytes[712];
};

SLAB_DEFINE_TYPED(entry, struct entry);

INLINE static inline void keep_entry(struct slab_cache *cache, int i)
{
	kept[i] = entry_alloc(cache);
}

INLINE static inline void fill_entries(struct slab_cache *cache)
{
	for (int i = 0; i < ENTRIES; i++)
		keep_entry(cache, i);
}

NOINLINE static void keep_entries(struct slab_cache *cache)
{
	fill_entries(cache);
}

NOINLINE static void churn_text(void)
{
	for (int i = 0; i < TEXTS; i++) {
		text = slab_malloc(48);
		slab_mfree(text);
	}
}

NOINLINE static void keep_blocks(void)
{
	for (int i = 0; i < BLOCKS; i++)
		block[i] = slab_malloc(100000);
	for (int i = 0; i < BLOCKS; i += 2)
		slab_mfree(block[i]);
}

int main(int argc, char **argv)
{
	struct slab_cache *cache = slab_cache_create("entry", 712, NULL, SLAB_PANIC);

	if (argc < 2 || strcmp(argv[1], "plain") != 0)
		slab_set_profile(64 * 1024);
	keep_entries(cache);
	churn_text();
	keep_blocks();
	puts("ready 0");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
