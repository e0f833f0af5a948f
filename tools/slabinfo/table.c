/* SPDX-License-Identifier: MIT */
/* The default view: one line for each cache, columns as in the kernel's tool. */
#include "views.h"

#include <inttypes.h>
#include <slab/slab.h>
#include <stdio.h>

const char *size_text(char text[SIZE_TEXT], uint64_t bytes)
{
	static const struct {
		uint64_t unit;
		char letter;
	} units[] = {{1000000000, 'G'}, {1000000, 'M'}, {1000, 'K'}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (bytes > units[i].unit) {
			uint64_t tenths = bytes / (units[i].unit / 10);

			snprintf(text, SIZE_TEXT, "%" PRIu64 ".%u%c", tenths / 10,
				 (unsigned)(tenths % 10), units[i].letter);
			return text;
		}
	}
	snprintf(text, SIZE_TEXT, "%" PRIu64, bytes);
	return text;
}

/* The letters of the Flg column. */
static void flag_letters(char *letters, const struct cache *cache)
{
	static const struct {
		uint64_t flag;
		char letter;
	} table[] = {
		{SLAB_HWCACHE_ALIGN, 'A'},
		{SLAB_POISON, 'P'},
		{SLAB_RECLAIM_ACCOUNT, 'a'},
		{SLAB_RED_ZONE, 'Z'},
		{SLAB_CONSISTENCY_CHECKS, 'F'},
		{SLAB_STORE_USER, 'U'},
		{SLAB_TRACE, 'T'},
	};

	if (cache->aliases)
		*letters++ = '*';
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (cache->flags & table[i].flag)
			*letters++ = table[i].letter;
	}
	*letters = '\0';
}

static void print_row(const struct cache *cache)
{
	char space[SIZE_TEXT], slabs[72], flags[16];
	/* The two counts come from different moments of a running process. */
	uint64_t others = cache->slabs > cache->cpu_slabs ? cache->slabs - cache->cpu_slabs : 0;

	snprintf(slabs, sizeof(slabs), "%" PRIu64 "/%" PRIu64 "/%" PRIu64, others, cache->partial,
		 cache->cpu_slabs);
	flag_letters(flags, cache);
	printf("%-21s %8" PRIu64 " %7" PRIu64 " %15s %14s %4" PRIu64 " %1" PRIu64 " %3" PRIu64
	       " %3" PRIu64 " %s\n",
	       cache->name, cache->objects, cache->object_size,
	       size_text(space, cache_bytes(cache)), slabs, cache->objects_per_slab, cache->order,
	       percent(cache->partial, cache->slabs),
	       percent(cache_used_bytes(cache), cache_bytes(cache)), flags);
}

void view_table(const struct options *options, const struct model *model)
{
	size_t rows =
		options->lines && options->lines < model->count ? options->lines : model->count;

	puts("Name                   Objects Objsize           Space Slabs/Part/Cpu  O/S O %Fr %Ef "
	     "Flg");
	for (size_t i = 0; i < rows; i++)
		print_row(&model->caches[i]);
}
