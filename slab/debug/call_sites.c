/* SPDX-License-Identifier: MIT */
/*
 * Call sites. No thread is stopped, so the sums belong to no single moment: an object that was
 * freed and allocated again meanwhile may count for either call site. The table is a mapping of its
 * own, and is sorted in place.
 */
#include <string.h>

#include "debug/call_sites.h"
#include "pages/os.h"

#define SITES_FIRST 64u
#define SITES_MAX (1u << 20)

/* The sums of one stack in one cache. An entry is in use if count is not 0. */
struct call_site {
	uint32_t stack;
	int tid_min, tid_max;
	uint32_t cache;
	uint64_t count, waste;
	uint64_t when_sum, when_min, when_max;
	uint64_t cpus[SLAB_CALL_SITE_CPUS / 64];
	uint64_t nodes;
};

static struct call_site *find(const struct call_sites *sites, uint32_t cache, uint32_t stack)
{
	size_t i = (uint32_t)((stack + cache * UINT32_C(0x85ebca6b)) * UINT32_C(0x9e3779b1)) &
		   (sites->room - 1);

	while (sites->site[i].count &&
	       (sites->site[i].stack != stack || sites->site[i].cache != cache))
		i = (i + 1) & (sites->room - 1);
	return &sites->site[i];
}

/* A table with at least twice as many entries as there are call sites, up to SITES_MAX. */
bool call_sites_reserve(struct call_sites *sites, unsigned more)
{
	struct call_sites grown = *sites;

	if (!grown.room)
		grown.room = SITES_FIRST;
	while (grown.room < 2 * (sites->used + more + SITES_FIRST) && grown.room < SITES_MAX)
		grown.room *= 2;
	if (grown.room == sites->room)
		return true;
	grown.site = os_map(grown.room * sizeof(*grown.site), 1);
	if (!grown.site)
		return false;
	for (size_t i = 0; i < sites->room; i++)
		if (sites->site[i].count)
			*find(&grown, sites->site[i].cache, sites->site[i].stack) = sites->site[i];
	call_sites_end(sites);
	*sites = grown;
	return true;
}

void call_sites_end(struct call_sites *sites)
{
	if (sites->site)
		os_unmap(sites->site, sites->room * sizeof(*sites->site));
}

/* --- adding ---------------------------------------------------------------------- */

static void start(struct call_site *site, uint32_t cache, const struct track *track)
{
	*site = (struct call_site){.stack = track->stack,
				   .cache = cache,
				   .tid_min = (int)track->tid,
				   .tid_max = (int)track->tid,
				   .when_min = track->when,
				   .when_max = track->when};
}

static void add(struct call_sites *sites, const struct track *track, unsigned node, uint64_t waste)
{
	struct call_site *site = find(sites, sites->cache, track->stack);
	int tid = (int)track->tid;

	if (!site->count) {
		/* One entry stays free, so that every search ends. */
		if (sites->used + 1 >= sites->room)
			return;
		sites->used++;
		start(site, sites->cache, track);
	}
	site->count++;
	site->waste += waste;
	site->when_sum += track->when;
	site->when_min = track->when < site->when_min ? track->when : site->when_min;
	site->when_max = track->when > site->when_max ? track->when : site->when_max;
	site->tid_min = tid < site->tid_min ? tid : site->tid_min;
	site->tid_max = tid > site->tid_max ? tid : site->tid_max;
	if (track->cpu < SLAB_CALL_SITE_CPUS)
		site->cpus[track->cpu / 64] |= UINT64_C(1) << track->cpu % 64;
	site->nodes |= UINT64_C(1) << node % 64;
	sites->newest = track->when > sites->newest ? track->when : sites->newest;
}

/* Threads may be changing the record of a guarded slab: it has another lock. */
__attribute__((no_sanitize("thread"))) static void add_object(struct call_sites *sites,
							      const struct slab_debug *debug,
							      const char *at, unsigned node)
{
	struct debug_object record;
	struct track track;
	bool allocated;

	memcpy(&record, at, sizeof(record));
	allocated = record.state == OBJECT_ALLOCATED;
	if (allocated != (sites->kind == SLAB_TRACES_ALLOCATED))
		return;
	at += sizeof(record) + (allocated ? TRACK_ALLOC : TRACK_FREE) * sizeof(track);
	memcpy(&track, at, sizeof(track));
	if (track.tid && track.when > sites->since)
		add(sites, &track, node,
		    record.requested < debug->object_size ? debug->object_size - record.requested
							  : 0);
}

void call_sites_add(struct call_sites *sites, const struct slab_debug *debug, const char *records,
		    unsigned objects, unsigned node)
{
	for (unsigned i = 0; i < objects; i++)
		add_object(sites, debug, records + (size_t)i * debug->stride, node);
}

/* --- sorting: by cache, the most objects first --------------------------------- */

static void swap(struct call_site *a, struct call_site *b)
{
	struct call_site held = *a;

	*a = *b;
	*b = held;
}

static bool is_behind(const struct call_site *a, const struct call_site *b)
{
	return a->cache != b->cache ? a->cache > b->cache : a->count < b->count;
}

/* Restore the heap below i; what comes last is on top. */
static void sift(struct call_site *site, size_t i, size_t n)
{
	for (;;) {
		size_t last = i, child = 2 * i + 1;

		for (size_t c = child; c < n && c < child + 2; c++)
			if (is_behind(&site[c], &site[last]))
				last = c;
		if (last == i)
			return;
		swap(&site[i], &site[last]);
		i = last;
	}
}

static void sort(struct call_site *site, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(site, i, n);
	for (size_t end = n; end-- > 1;) {
		swap(&site[0], &site[end]);
		sift(site, 0, end);
	}
}

static size_t compact(struct call_sites *sites)
{
	size_t n = 0;

	for (size_t i = 0; i < sites->room; i++)
		if (sites->site[i].count)
			sites->site[n++] = sites->site[i];
	return n;
}

void call_sites_sort(struct call_sites *sites)
{
	sites->used = compact(sites);
	sort(sites->site, sites->used);
}

/* --- the result ------------------------------------------------------------------ */

static void fill(struct slab_call_site *to, const struct call_site *from, uint64_t now)
{
	*to = (struct slab_call_site){
		.struct_size = sizeof(*to),
		.count = from->count,
		.waste = from->waste,
		.age_min_ms = now - from->when_max,
		.age_avg_ms = now - from->when_sum / from->count,
		.age_max_ms = now - from->when_min,
		.tid_min = from->tid_min,
		.tid_max = from->tid_max,
		.nodes = from->nodes,
	};
	for (unsigned i = 0; i < SLAB_CALL_SITE_CPUS / 64; i++)
		to->cpus[i] = from->cpus[i];
}

long call_sites_each(struct call_sites *sites, uint64_t now,
		     unsigned (*frames)(const void *from, uint32_t stack, const void **frame),
		     const void *from, int (*fn)(const struct slab_call_site *site, void *arg),
		     void *arg)
{
	long seen = 0;

	now = now < sites->newest ? sites->newest : now;
	for (; sites->next < sites->used; sites->next++) {
		const struct call_site *next = &sites->site[sites->next];
		struct slab_call_site site;

		if (next->cache < sites->cache)
			continue;
		if (next->cache != sites->cache)
			break;
		fill(&site, next, now);
		site.frames = frames(from, next->stack, site.frame);
		seen++;
		if (fn(&site, arg))
			break;
	}
	return seen;
}
