/* SPDX-License-Identifier: MIT */
/* Statistics and limits: malloc() counts no objects and has no caches to show. */
#include <slab/memory.h>
#include <slab/slab.h>
#include <slab/stats.h>

#include <errno.h>

const char *slab_version(void)
{
	return SLAB_VERSION;
}

/* It gives the end of its heap back by itself, and nothing else. */
size_t slab_trim(void)
{
	return 0;
}

/* There are no reclaim functions to call: no allocation waits for them. */
size_t slab_reclaim(size_t bytes)
{
	(void)bytes;
	return 0;
}

int slab_set_limit(size_t bytes)
{
	return bytes ? -ENOTSUP : 0;
}

size_t slab_limit(void)
{
	return 0;
}

int slab_for_each_cache(int (*fn)(struct slab_cache *cache, void *arg), void *arg)
{
	(void)fn;
	(void)arg;
	return 0;
}

const char *slab_cache_name(const struct slab_cache *cache)
{
	(void)cache;
	return "";
}

int slab_process_stats(struct slab_process_stats *stats)
{
	*stats = (struct slab_process_stats){
		.struct_size = stats->struct_size,
		.engine = "malloc",
	};
	return 0;
}

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
