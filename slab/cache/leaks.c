/* SPDX-License-Identifier: MIT */
/*
 * The reports of objects that are still in use when their cache is destroyed, and when the process
 * exits.
 *
 * The thread composes and writes the report with no lock held, so that a fork, or a thread that
 * creates a cache, does not wait until the report is written. The cache is pinned and marked as
 * dying, so no other thread shrinks or validates it, and the application must not use it. All
 * working memory is one mapping, since the thread's stack may be small.
 *
 * At exit other threads may still use the caches. So objects and call sites are counted as for
 * slabinfo, and not listed one by one.
 */
#include <inttypes.h>
#include <slab/debug.h>
#include <slab/slab.h>
#include <slab/stats.h>

#include "base/compiler.h"
#include "cache/create.h"
#include "cache/large.h"
#include "base/options.h"
#include "core/debug_record.h"
#include "core/slab.h"
#include "debug/bug_info.h"
#include "pages/account.h"
#include "pages/os.h"
#include "core/registry.h"
#include "report/report.h"
#include "report/symbol.h"
#include "report/track.h"

#define LEAK_SITES 3
#define LEAK_FRAMES 6u

/* The free bytes in a report that another object needs, that the call sites need, and that one call
 * site needs. */
#define ROOM_OBJECT 512u
#define ROOM_SITES 2048u
#define ROOM_SITE 1280u

struct leaks {
	struct slab_cache *cache;
	const char *when;
	struct report report;
	unsigned long count;
	unsigned sites;
	struct slab_track site;
	char text[LEAK_FRAMES][SYMBOL_TEXT];
};

static void begin(struct leaks *leaks, const char *more)
{
	report_begin(&leaks->report, SLAB_PROBLEM_LEAK, leaks->cache->name,
		     "Objects remaining in %s %s%s", leaks->cache->name, leaks->when, more);
}

/* Begin another report if this one has no room. */
static void make_room(struct leaks *leaks, size_t bytes)
{
	if (leaks->report.len + bytes <= sizeof(leaks->report.text))
		return;
	leaks->report.info.leaked = leaks->count;
	report_emit(&leaks->report);
	begin(leaks, " (continued)");
}

/* Add the object's allocation, on one line. */
static void add_track(struct leaks *leaks, const struct track *track)
{
	struct slab_track *site = &leaks->site;

	track_describe(track, site);
	if (!site->tid || !site->frames)
		return;
	symbolize(1, site->frame, leaks->text);
	report_line(&leaks->report, "Allocated in %s age=%" PRIu64 " ms cpu=%d tid=%d (%s)",
		    leaks->text[0], site->age_ms, site->cpu, site->tid, site->thread);
}

static void add_object(struct leaks *leaks, struct slab *slab, unsigned index)
{
	char *object =
		slab->debug ? debug_object_at(slab, index) : slab_object(leaks->cache, slab, index);

	make_room(leaks, ROOM_OBJECT);
	leaks->count++;
	report_line(&leaks->report, "Object %p @offset=%zu", (void *)object,
		    (size_t)(object - slab->base));
	if (slab->debug && slab->debug->debug_flags & SLAB_STORE_USER)
		add_track(leaks, debug_track(slab, index, TRACK_ALLOC));
}

/* After a flush no array or magazine has objects, and no other thread uses the cache. So the thread
 * reads slabs without a lock. */
static void add_slab(struct slab *slab, void *arg)
{
	const bool tagged = slab_is_tagged(slab, SLAB_TAG_DEBUG);

	for (unsigned i = 0; i < slab_initialized(slab); i++)
		if (tagged ? debug_is_allocated(slab, i) : !slab_bit(slab, i))
			add_object(arg, slab, i);
}

/* Add a call site; stop after the LEAK_SITES with the most objects. */
static int add_site(const struct slab_call_site *site, void *arg)
{
	struct leaks *leaks = arg;
	unsigned frames = site->frames < LEAK_FRAMES ? site->frames : LEAK_FRAMES;

	symbolize(frames, site->frame, leaks->text);
	report_line(&leaks->report, "%" PRIu64 " of them allocated by", site->count);
	for (unsigned i = 0; i < frames; i++)
		report_line(&leaks->report, "\t%s", leaks->text[i]);
	return ++leaks->sites == LEAK_SITES;
}

static void report(struct leaks *leaks)
{
	begin(leaks, "");
	cache_each_slab(leaks->cache, add_slab, leaks);
	report_line(&leaks->report, leaks->count == 1 ? "%lu object remains" : "%lu objects remain",
		    leaks->count);
	make_room(leaks, ROOM_SITES);
	slab_cache_traces(leaks->cache, SLAB_TRACES_ALLOCATED, 0, add_site, leaks);
	leaks->report.info.leaked = leaks->count;
	report_emit(&leaks->report);
}

/* Report without a list of objects: there is no memory for it. */
static SLAB_SLOWPATH void report_heading_alone(const struct slab_cache *cache)
{
	struct bug_info bug;

	bug_info_begin(&bug, SLAB_PROBLEM_LEAK, cache->name,
		       "Objects remaining in %s on slab_cache_destroy", cache->name);
	bug_info_report(&bug);
}

void cache_report_leaks(struct slab_cache *cache)
{
	struct leaks *leaks = os_map(sizeof(*leaks), 1);

	if (leaks) {
		leaks->cache = cache;
		leaks->when = "on slab_cache_destroy";
		report(leaks);
		os_unmap(leaks, sizeof(*leaks));
	} else {
		report_heading_alone(cache);
	}
	__atomic_fetch_add(&cache->errors, 1, __ATOMIC_RELAXED);
}

/* --- at exit ------------------------------------------------------------------------------ */

/* Add a call site, each of which counts. */
static int add_any_site(const struct slab_call_site *site, void *arg)
{
	struct leaks *leaks = arg;

	make_room(leaks, ROOM_SITE);
	add_site(site, arg);
	return 0;
}

static unsigned long count_objects(struct slab_cache *cache)
{
	struct slab_stats stats = {.struct_size = sizeof(stats)};

	if (slab_cache_stats(cache, &stats) || stats.objects < stats.rcu_pending)
		return 0;
	return stats.objects - stats.rcu_pending;
}

static void report_cache(struct leaks *leaks, struct slab_cache *cache)
{
	leaks->cache = cache;
	leaks->count = count_objects(cache);
	if (!leaks->count)
		return;
	begin(leaks, "");
	report_line(&leaks->report,
		    leaks->count == 1 ? "%lu object remains: %zu bytes"
				      : "%lu objects remain: %zu bytes",
		    leaks->count, leaks->count * cache->object_size);
	if (slab_cache_traces(cache, SLAB_TRACES_ALLOCATED, 0, add_any_site, leaks) < 0)
		report_line(&leaks->report, "SLAB_DEBUG=U,%s shows where they were allocated",
			    cache->name);
	leaks->report.info.leaked = leaks->count;
	report_emit(&leaks->report);
}

/* Large allocations have no cache, and only their bytes are counted. */
static void report_large(struct leaks *leaks)
{
	uint64_t bytes = __atomic_load_n(&slab_pages.large_bytes, __ATOMIC_RELAXED);

	if (!bytes)
		return;
	report_begin(&leaks->report, SLAB_PROBLEM_LEAK, LARGE_NAME,
		     "Objects remaining in " LARGE_NAME " %s", leaks->when);
	report_line(&leaks->report, "%" PRIu64 " bytes remain", bytes);
	report_emit(&leaks->report);
}

void cache_report_leaks_at_exit(void)
{
	struct pin pin = {0};
	struct leaks *leaks;

	if (!slab_options()->leak_check)
		return;
	leaks = os_map(sizeof(*leaks), 1);
	if (!leaks)
		return;
	leaks->when = "at exit";
	while (registry_next_pinned(&pin))
		report_cache(leaks, pin.cache);
	report_large(leaks);
	os_unmap(leaks, sizeof(*leaks));
}
