/* SPDX-License-Identifier: MIT */
/* Call sites: records and tracks are copied slab by slab, and no thread is stopped. */
#include "pages/os.h"
#include "process.h"
#include "report/depot.h"
#include "report/profile.h"

#include <errno.h>
#include <slab/debug.h>

struct scan {
	struct call_sites *sites;
	struct inspect_buffer records; /* of the present slab */
	int error;
};

static size_t record_bytes(const struct inspect_slab *seen)
{
	return (size_t)seen->slab.initialized * seen->debug.stride;
}

static void add_slab(struct inspection *in, struct inspect_cache *cache,
		     const struct inspect_slab *seen, void *arg)
{
	struct scan *scan = arg;

	if (!seen->tagged || !(seen->debug.debug_flags & SLAB_STORE_USER) || scan->error)
		return;
	if (seen->debug.stride < sizeof(struct debug_object) + 2 * sizeof(struct track))
		return;
	cache->tracked = true;
	/* The slab was reused between the copies of its descriptor and of its struct slab_debug. */
	if (sizeof(struct slab_debug) + record_bytes(seen) > seen->side)
		return;
	scan->error = inspect_fetch(in, (uintptr_t)(seen->slab.debug + 1), record_bytes(seen),
				    &scan->records);
	if (!scan->error && !call_sites_reserve(scan->sites, seen->slab.initialized))
		scan->error = -ENOMEM;
	if (scan->error)
		return;
	scan->sites->cache = (uint32_t)(cache - in->caches);
	call_sites_add(scan->sites, &seen->debug, scan->records.bytes, seen->slab.initialized,
		       seen->slab.node);
}

unsigned inspect_stack(const struct inspection *in, uint32_t id, const void **frames)
{
	const struct stack_depot *depot = in->root.stacks;
	uint64_t at = (uintptr_t)depot + offsetof(struct stack_depot, chunk) +
		      ((uint64_t)id * DEPOT_UNIT >> DEPOT_CHUNK_SHIFT) * sizeof(char *);
	struct stack_record record;
	uint64_t chunk, end;
	unsigned n;

	if (!id || (uint64_t)id * DEPOT_UNIT >> DEPOT_CHUNK_SHIFT >= DEPOT_CHUNKS_MAX ||
	    inspect_read(in, at, sizeof(chunk), &chunk) || !chunk)
		return 0;
	end = chunk + (UINT64_C(1) << DEPOT_CHUNK_SHIFT);
	at = chunk + ((uint64_t)id * DEPOT_UNIT & ((1u << DEPOT_CHUNK_SHIFT) - 1));
	if (inspect_read(in, at, sizeof(record), &record))
		return 0;
	n = record.signature & ((1u << DEPOT_COUNT_BITS) - 1);
	/* The id may come from a record that was half written: keep within the chunk. */
	if (!n || n > SLAB_STACK_MAX || at + sizeof(record) + n * sizeof(*frames) > end ||
	    inspect_read(in, at + sizeof(record), n * sizeof(*frames), frames))
		return 0;
	return n;
}

static unsigned frames_of(const void *in, uint32_t stack, const void **frames)
{
	return inspect_stack(in, stack, frames);
}

int inspect_traces(struct inspection *in, struct call_sites *sites)
{
	struct scan scan = {.sites = sites};
	int error = inspect_each_slab(in, add_slab, &scan);

	inspect_buffer_free(&scan.records);
	call_sites_sort(sites);
	return error ? error : scan.error;
}

void inspect_each_site(struct inspection *in, struct call_sites *sites, size_t cache,
		       int (*fn)(const struct slab_call_site *site, void *arg), void *arg)
{
	sites->cache = (uint32_t)cache;
	call_sites_each(sites, in->reader->now_ms, frames_of, in, fn, arg);
}

/* --- the heap profile --------------------------------------------------------------------- */

/* Reading the sites of the heap profile. Sites are only added, so a number of them that was read
 * stays valid; those that were added since are left out. */

#define SITES_AT_ONCE 4u

static int read_sites(const struct inspection *in, uint64_t address, uint32_t count,
		      void (*fn)(const struct profile_site *site, void *arg), void *arg)
{
	struct profile_site site[SITES_AT_ONCE];
	int error = 0;

	/* Site 0 is not used. */
	for (uint32_t first = 1; first <= count && !error; first += SITES_AT_ONCE) {
		uint32_t n = count - first + 1;

		n = n < SITES_AT_ONCE ? n : SITES_AT_ONCE;
		error = inspect_read(in, address + first * sizeof(site[0]), n * sizeof(site[0]),
				     site);
		for (uint32_t i = 0; i < n && !error; i++)
			if (site[i].period && site[i].allocated)
				fn(&site[i], arg);
	}
	return error;
}

int inspect_profile(struct inspection *in, struct profile *seen,
		    void (*fn)(const struct profile_site *site, void *arg), void *arg)
{
	const int error = inspect_read(in, (uintptr_t)in->root.profile, sizeof(*seen), seen);

	if (error || !seen->sites)
		return error;
	return read_sites(in, (uintptr_t)seen->sites,
			  seen->count < PROFILE_SITES_MAX ? seen->count : PROFILE_SITES_MAX - 1, fn,
			  arg);
}
