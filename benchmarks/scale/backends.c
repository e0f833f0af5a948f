/* SPDX-License-Identifier: MIT */
/* libslab, SLAB and sheaves of benchmarks/baselines, and malloc() of whatever library is loaded
 * (backends.h). */
#include "backends.h"

#include <slab/slab.h>
#include <slab/stats.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <queued/queued.h>
#include <sheaves/sheaf.h>

static void *slab_backend_create(size_t size, unsigned number)
{
	char name[SLAB_MAX_NAME + 1];

	snprintf(name, sizeof(name), "scale-%u", number);
	return slab_cache_create(name, size, NULL, SLAB_NO_MERGE | SLAB_PANIC);
}

static void *slab_backend_alloc(void *cache)
{
	return slab_alloc(cache);
}

static void slab_backend_free(void *cache, void *obj)
{
	slab_free(cache, obj);
}

static void read_stats(struct slab_cache *cache, struct slab_stats *stats)
{
	stats->struct_size = sizeof(*stats);
	if (slab_cache_stats(cache, stats) != 0)
		exit(1);
}

static void slab_backend_print(FILE *out, void *const *caches, unsigned n)
{
	struct slab_stats stats;
	uint64_t bytes = 0, held = 0, owned = 0, partial = 0, event[SLAB_EVENT_COUNT] = {0};

	for (unsigned i = 0; i < n; i++) {
		read_stats(caches[i], &stats);
		bytes += stats.slab_bytes;
		held += stats.cpu_objects;
		owned += stats.cpu_slabs;
		partial += stats.partial;
		for (unsigned e = 0; e < SLAB_EVENT_COUNT; e++)
			event[e] += stats.event[e];
	}
	fprintf(out, "slab_bytes %ju\nheld_objects %ju\nowned_slabs %ju\npartial_slabs %ju\n",
		(uintmax_t)bytes, (uintmax_t)held, (uintmax_t)owned, (uintmax_t)partial);
	for (unsigned e = 0; e < SLAB_EVENT_COUNT; e++)
		fprintf(out, "%s %ju\n", slab_event_name(e), (uintmax_t)event[e]);
}

/* --- benchmarks/baselines ------------------------------------------------------------------- */

static void print_baseline(FILE *out, const struct baseline *baseline, void *const *caches,
			   unsigned n)
{
	struct baseline_stats stats;
	size_t bytes = 0, queued = 0;

	for (unsigned i = 0; i < n; i++) {
		baseline->stats(caches[i], &stats);
		bytes += stats.bytes;
		queued += stats.queued;
	}
	fprintf(out, "slab_bytes %zu\nheld_objects %zu\n", bytes, queued);
}

static void *queued_backend_create(size_t size, unsigned number)
{
	const struct baseline_args args = {.size = size};

	(void)number;
	return queued_create(&args);
}

static void *queued_backend_alloc(void *cache)
{
	return queued_alloc(cache);
}

static void queued_backend_free(void *cache, void *obj)
{
	queued_free(cache, obj);
}

static void queued_backend_print(FILE *out, void *const *caches, unsigned n)
{
	print_baseline(out, &queued_baseline, caches, n);
}

static void *sheaf_backend_create(size_t size, unsigned number)
{
	const struct baseline_args args = {.size = size};

	(void)number;
	return sheaf_create(&args);
}

static void *sheaf_backend_alloc(void *cache)
{
	return sheaf_alloc(cache);
}

static void sheaf_backend_free(void *cache, void *obj)
{
	sheaf_free(cache, obj);
}

static void sheaf_backend_print(FILE *out, void *const *caches, unsigned n)
{
	print_baseline(out, &sheaf_baseline, caches, n);
}

/* --- malloc() ------------------------------------------------------------------------------- */

/* A cache of malloc() is its size. */
static void *malloc_create(size_t size, unsigned number)
{
	(void)number;
	return (void *)(uintptr_t)size; /* NOLINT(performance-no-int-to-ptr) */
}

static void *malloc_alloc(void *cache)
{
	return malloc((uintptr_t)cache);
}

static void malloc_free(void *cache, void *obj)
{
	(void)cache;
	free(obj);
}

static void malloc_print(FILE *out, void *const *caches, unsigned n)
{
	(void)out;
	(void)caches;
	(void)n;
}

static const struct backend backends[] = {
	{"libslab", false, slab_backend_create, slab_backend_alloc, slab_backend_free,
	 slab_backend_print},
	{"SLAB", false, queued_backend_create, queued_backend_alloc, queued_backend_free,
	 queued_backend_print},
	{"sheaves", false, sheaf_backend_create, sheaf_backend_alloc, sheaf_backend_free,
	 sheaf_backend_print},
	{"malloc", true, malloc_create, malloc_alloc, malloc_free, malloc_print},
};

const struct backend *backend_find(const char *name)
{
	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++)
		if (strcmp(backends[i].name, name) == 0)
			return &backends[i];
	return NULL;
}
