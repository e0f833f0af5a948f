/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "slab_internal.h"

const char *slab_stat_name(unsigned i)
{
	(void)i;
	return NULL;
}

int slab_stat_read(struct slab_cache *cache, const char *name, uint64_t *value)
{
	(void)cache;
	(void)name;
	(void)value;
	return -ENOENT;
}

int slab_stat_write(struct slab_cache *cache, const char *name, uint64_t value)
{
	(void)cache;
	(void)name;
	(void)value;
	return -ENOENT;
}
