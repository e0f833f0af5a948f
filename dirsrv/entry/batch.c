/* SPDX-License-Identifier: MIT */
/* Bulk allocation and free of objects, for code that takes them one by one. */
#include "internal.h"

#include <errno.h>

void *supply_take(struct supply *supply)
{
	size_t n = supply->wanted;

	if (supply->count)
		return supply->object[--supply->count];
	if (n > BATCH)
		n = BATCH;
	supply->wanted -= n;
	supply->count = (unsigned)slab_alloc_bulk(supply->cache, SLAB_ALLOC_FULL, n ? n : 1,
						  supply->object);
	if (supply->count)
		return supply->object[--supply->count];
	errno = ENOMEM;
	return NULL;
}

void supply_end(struct supply *supply)
{
	slab_free_bulk(supply->cache, supply->count, supply->object);
	supply->count = 0;
}

void returns_add(struct returns *returns, void *object)
{
	if (returns->count == BATCH)
		returns_end(returns);
	returns->object[returns->count++] = object;
}

void returns_end(struct returns *returns)
{
	slab_free_bulk(returns->cache, returns->count, returns->object);
	returns->count = 0;
}
