/* SPDX-License-Identifier: MIT */
/* The environment; the summary. */
#include "preload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- options -------------------------------------------------------------------------------- */

#define DEFAULT_CACHES 128u

struct options options;

/* Its value; NULL if it is not set or empty. */
static const char *variable(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

static bool automatic_names(void)
{
	const char *value = variable("SLAB_389DS_NAMES");

	if (!value || strcmp(value, "all") == 0)
		return true;
	if (strcmp(value, "types") == 0)
		return false;
	fprintf(stderr,
		"libslab-389ds: SLAB_389DS_NAMES=%s is not valid; accepted: types, all; using all\n",
		value);
	return true;
}

static unsigned caches(void)
{
	const char *value = variable("SLAB_389DS_CACHES");
	unsigned long number;
	char *end;

	if (!value)
		return DEFAULT_CACHES;
	number = strtoul(value, &end, 10);
	if (*value >= '0' && *value <= '9' && !*end && number <= MOST_CACHES)
		return (unsigned)number;
	fprintf(stderr,
		"libslab-389ds: SLAB_389DS_CACHES=%s is not valid; accepted: a number from 0 to %u; "
		"using %u\n",
		value, MOST_CACHES, DEFAULT_CACHES);
	return DEFAULT_CACHES;
}

void options_read(void)
{
	if (__atomic_load_n(&options.is_read, __ATOMIC_ACQUIRE))
		return;
	options.is_automatic = automatic_names();
	options.caches = caches();
	options.summary = variable("SLAB_389DS_SUMMARY");
	__atomic_store_n(&options.is_read, true, __ATOMIC_RELEASE);
}

/* --- summary -------------------------------------------------------------------------------- */

struct totals {
	unsigned long types, functions, untyped;
};

void summary_start(void)
{
	sites_are_counted = options.summary != NULL;
}

static bool is_of_type(const char *name)
{
	const char *other;
	bool is_type;

	for (unsigned i = 0; (other = caches_name(i, &is_type)); i++)
		if (strcmp(other, name) == 0)
			return is_type;
	return false;
}

/* "allocations cache-or-minus code size", a line for each site. */
static void write_site(FILE *file, struct totals *totals, const struct site *site,
		       unsigned long allocs, const char *code, size_t size)
{
	const char *cache = "-";

	if (!allocs)
		return;
	if (SITE_IS_CACHE(site->state)) {
		cache = slab_cache_name((const struct slab_cache *)site->state);
		*(is_of_type(cache) ? &totals->types : &totals->functions) += allocs;
	} else {
		totals->untyped += allocs;
	}
	fprintf(file, "%lu %s %s %zu\n", allocs, cache, code, size);
}

static void write_all(FILE *file)
{
	struct totals totals = {0, 0, 0};
	struct cache_name name;
	struct site strings;
	unsigned long allocs;

	fprintf(file, "# allocations, cache, function and its size class, size up to\n");
	for (unsigned i = 0; i < SITE_ROOM; i++) {
		const struct site *site = &sites[i];
		const size_t size = (size_t)(site->key & 255) * 8;

		if (!site->key)
			continue;
		name_site(&name, (const void *)(uintptr_t)(site->key >> 8), size);
		write_site(file, &totals, site, site_allocs(site), name.text, size);
	}
	for (size_t words = 1; string_allocs(words, &strings, &allocs); words++)
		write_site(file, &totals, &strings, allocs, "slapi_ch_strdup", words * 8);
	fprintf(file, "# types %lu functions %lu untyped %lu large %lu\n", totals.types,
		totals.functions, totals.untyped, sites_large);
}

__attribute__((destructor)) static void finish(void)
{
	FILE *file = sites_are_counted ? fopen(options.summary, "we") : NULL;

	if (!file)
		return;
	sites_are_counted = false;
	write_all(file);
	fclose(file);
}
