/* SPDX-License-Identifier: MIT */
/*
 * libslab: a cache for each type, <slab/malloc.h> for values and buffers. When objects
 * may be moved, the caches of movable types have a constructor, and their objects are
 * free in constructed state: in no record.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <slab/malloc.h>
#include <slab/memory.h>
#include <slab/slab.h>

#include "bench.h"

static struct slab_cache *caches[TYPES];
static const struct movers *movers; /* NULL: objects stay where they are */

static int construct(void *obj, void *arg)
{
	(void)arg;
	movers->untag(obj);
	return 0;
}

static int isolate(void *obj, void *arg)
{
	(void)arg;
	return movers->isolate(obj) ? 0 : -EBUSY;
}

static int migrate(void *from, void *to, void *arg)
{
	const struct type_info *type = arg;

	return movers->migrate(from, to, type->size) ? 0 : -EBUSY;
}

static struct slab_cache *create(const struct type_info *type, bool movable)
{
	struct slab_cache_args args = {
		.ctor = construct, .isolate = isolate, .migrate = migrate, .arg = (void *)type};

	return slab_cache_create(type->name, type->size, movable ? &args : NULL, 0);
}

bool contestant_begin(const struct movers *with)
{
	movers = with;
	for (int t = 0; t < TYPES; t++) {
		caches[t] = create(&types[t], movers && types[t].movable);
		if (!caches[t]) {
			fprintf(stderr, "memory-slab: no cache of %s: %s\n", types[t].name,
				strerror(errno));
			return false;
		}
	}
	return true;
}

const char *contestant_allocator(void)
{
	static char text[64];

	snprintf(text, sizeof(text), "libslab %s, engine %s", slab_version(), slab_engine());
	return text;
}

void *contestant_alloc(enum type type)
{
	return slab_alloc(caches[type]);
}

void contestant_free(enum type type, void *obj)
{
	slab_free(caches[type], obj);
}

void *contestant_malloc(size_t size)
{
	return slab_malloc(size);
}

void contestant_mfree(void *ptr)
{
	slab_mfree(ptr);
}

void *contestant_single(const struct type_info *type)
{
	struct slab_cache *cache = create(type, false);

	return cache ? slab_alloc(cache) : NULL;
}

bool contestant_fits(void *ptr, size_t size)
{
	return slab_usable_size(ptr) == size;
}

/* What CPUs hold goes to the partial lists first, so that the densest slabs get what moves. */
long contestant_defrag(void)
{
	long moved = 0;

	if (!movers)
		return 0;
	slab_trim();
	for (int t = 0; t < TYPES; t++) {
		long n = types[t].movable ? slab_cache_defrag(caches[t]) : 0;

		if (n < 0)
			bench_fail("slab_cache_defrag(%s): %s", types[t].name, strerror((int)-n));
		moved += n;
	}
	movers->moved();
	return moved;
}
