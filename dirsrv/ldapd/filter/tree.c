/* SPDX-License-Identifier: MIT */
/* The nodes of filters: their slab caches, creating and freeing them. */
#include "filter/filter.h"

#include "base/memory.h"

#include <errno.h>
#include <slab/malloc.h>

static struct slab_cache *nodes, *parts;
static unsigned starts;

int filter_start(void)
{
	if (starts++)
		return 0;
	nodes = slab_cache_create("ldapd.filter", sizeof(struct filter), NULL, SLAB_ZERO);
	parts = slab_cache_create("ldapd.filter_part", sizeof(struct filter_part), NULL, SLAB_ZERO);
	if (nodes && parts)
		return 0;
	filter_stop();
	return -ENOMEM;
}

int filter_stop(void)
{
	int error;

	if (starts > 1) {
		starts--;
		return 0;
	}
	error = cache_stop(&nodes);
	if (!error)
		error = cache_stop(&parts);
	if (error)
		return error;
	starts = 0;
	return 0;
}

struct filter *filter_new(enum filter_kind kind)
{
	struct filter *filter = slab_alloc(nodes);

	if (filter)
		filter->kind = kind;
	return filter;
}

struct filter_part *filter_part_new(void)
{
	return slab_alloc(parts);
}

static void parts_free(struct filter_part *part)
{
	struct filter_part *next;

	for (; part; part = next) {
		next = part->next;
		slab_mfree((void *)part->normal.data);
		slab_free(parts, part);
	}
}

/* Nodes as a list: the children of each node come next, so that no depth of a tree needs a stack. */
void filter_free(struct filter *filter)
{
	while (filter) {
		struct filter *next = filter->next, *last = filter->children;

		if (last) {
			while (last->next)
				last = last->next;
			last->next = next;
			next = filter->children;
		}
		parts_free(filter->any);
		slab_mfree((void *)filter->base.data);
		slab_mfree((void *)filter->normal.data);
		slab_mfree((void *)filter->normal_final.data);
		slab_free(nodes, filter);
		filter = next;
	}
}
