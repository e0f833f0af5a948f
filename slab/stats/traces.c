/* SPDX-License-Identifier: MIT */
/* slab_cache_traces() and slab_mark(): call sites of this process (debug/call_sites.h). */
#include <slab/debug.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "core/slab.h"
#include "debug/call_sites.h"
#include "debug/debug_cache.h"
#include "report/track.h"

struct traces {
	struct call_sites sites;
	struct slab_cache *cache;
	bool tracked; /* a slab with tracks was found */
};

static bool has_tracks(const struct slab *slab)
{
	return slab->debug->debug_flags & SLAB_STORE_USER;
}

static void add_slab(struct slab *slab, void *arg)
{
	struct traces *traces = arg;
	struct debug_lock lock;

	if (!slab_is_tagged(slab, SLAB_TAG_DEBUG))
		return;
	lock = debug_lock(traces->cache, slab);
	if (!lock.shard && debug_is_ours(traces->cache, slab, &lock) && has_tracks(slab)) {
		traces->tracked = true;
		call_sites_add(&traces->sites, slab->debug, (const char *)(slab->debug + 1),
			       slab->initialized, slab->node);
	}
	debug_unlock(&lock);
}

static unsigned frames_of(const void *unused, uint32_t stack, const void **frames)
{
	const void *const *saved;
	const unsigned n = depot_load(stack, &saved);

	(void)unused;
	if (n)
		memcpy(frames, saved, n * sizeof(*frames));
	return n;
}

static long each_site(struct traces *traces,
		      int (*fn)(const struct slab_call_site *site, void *arg), void *arg)
{
	long seen = -ENODATA;

	if (!call_sites_reserve(&traces->sites, depot_count()))
		return -ENOMEM;
	cache_each_slab(traces->cache, add_slab, traces);
	call_sites_sort(&traces->sites);
	if (traces->tracked)
		seen = call_sites_each(&traces->sites, track_now(), frames_of, NULL, fn, arg);
	call_sites_end(&traces->sites);
	return seen;
}

long slab_cache_traces(struct slab_cache *cache, enum slab_traces kind, uint64_t since,
		       int (*fn)(const struct slab_call_site *site, void *arg), void *arg)
{
	struct traces traces = {.sites = {.kind = kind, .since = since}, .cache = cache};
	int cancel;
	long seen;

	if (!cache || cache->magic != CACHE_MAGIC ||
	    (kind != SLAB_TRACES_ALLOCATED && kind != SLAB_TRACES_FREED))
		return with_errno(-EINVAL);
	cancel = cancel_disable();
	seen = each_site(&traces, fn, arg);
	cancel_restore(cancel);
	return seen < 0 ? with_errno((int)seen) : seen;
}

uint64_t slab_mark(void)
{
	uint64_t mark = track_now();

	/* Wait for the next millisecond: everything that is allocated later has a later time. */
	while (track_now() == mark)
		clock_sleep(100000);
	return mark;
}
