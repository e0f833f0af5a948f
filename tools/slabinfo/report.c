/* SPDX-License-Identifier: MIT */
/*
 * -r: all that is known about a cache, in the kernel tool's layout. What SLUB
 * counts on its fast path is not counted here at all; the events that leave the
 * fast path are. So the rows Fastpath and Total, and rows of what else libslab does not
 * count or does not do, are left out; percentages are of the row Slowpath.
 */
#include "select.h"
#include "views.h"

#include <slab/slab.h>

static void print_properties(const struct options *options, const struct cache *cache)
{
	char text[SIZE_TEXT];

	printf("\nSlabcache: %-15s  Order : %2" PRIu64 " Objects: %" PRIu64 "\n", cache->name,
	       cache->order, cache->objects);
	if (cache->flags & SLAB_HWCACHE_ALIGN)
		puts("** Hardware cacheline aligned");
	if (cache->flags & SLAB_TYPESAFE_BY_RCU)
		puts("** Slabs are destroyed via RCU");
	if (model_number(cache->json, "has_rcu"))
		puts("** Frees may wait for a grace period of RCU");
	if (cache->flags & SLAB_RECLAIM_ACCOUNT)
		puts("** Reclaim accounting active");
	if (cache->flags & SLAB_ZERO)
		puts("** Objects are zeroed on allocation");
	if (cache->flags & SLAB_HARDEN_FREE)
		puts("** Frees are checked (SLAB_HARDEN_FREE)");
	if (cache->flags & SLAB_APART)
		printf("** No other cache gets its addresses: %s (SLAB_APART)\n",
		       size_shown(options, text, model_number(cache->json, "address_bytes")));
	if (cache->flags & SLAB_FAILSLAB)
		puts("** Allocations may be made to fail (A)");
	if (model_number(cache->json, "large_objects"))
		printf("** Of its type, %" PRIu64 " allocations above 32 KiB: %s\n",
		       model_number(cache->json, "large_objects"),
		       size_shown(options, text, model_number(cache->json, "large_bytes")));
	if (cache->has_ctor)
		puts("** Objects are constructed once per slab");
	if (model_number(cache->json, "has_dtor"))
		puts("** Objects are destructed with their slab");
}

static const char *on_off(const struct cache *cache, uint64_t flag)
{
	return cache->flags & flag ? "On" : "Off";
}

static uint64_t minus(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

static void print_row(const char *size_label, uint64_t size, const char *count_label,
		      uint64_t count, const char *debug_label, const char *debug,
		      const char *memory_label, uint64_t memory)
{
	printf("%s: %7" PRIu64 "  %s: %7" PRIu64 "   %s : %3s  %s: %10" PRIu64 "\n", size_label,
	       size, count_label, count, debug_label, debug, memory_label, memory);
}

static void print_sizes(const struct cache *cache)
{
	const uint64_t objects = cache->objects_per_slab;

	puts("\nSizes (bytes)     Slabs              Debug                Memory\n"
	     "------------------------------------------------------------------------");
	print_row("Object ", cache->object_size, "Total  ", cache->slabs, "Sanity Checks",
		  on_off(cache, SLAB_CONSISTENCY_CHECKS), "Total", cache->slab_bytes);
	print_row("SlabObj", cache->slab_size, "Full   ", cache->full, "Redzoning    ",
		  on_off(cache, SLAB_RED_ZONE), "Used ", cache_used_bytes(cache));
	print_row("SlabSiz", cache_slab_bytes(cache), "Partial", cache->partial, "Poisoning    ",
		  on_off(cache, SLAB_POISON), "Loss ", cache_loss(cache));
	print_row("Loss   ", minus(cache->slab_size, cache->object_size), "Empty  ", cache->empty,
		  "Tracking     ", on_off(cache, SLAB_STORE_USER), "Lalig",
		  minus(cache->slab_size, cache->object_size) * cache->objects);
	print_row("Align  ", cache->align, "Objects", objects, "Tracing      ",
		  on_off(cache, SLAB_TRACE), "Lpadd",
		  minus(cache->slab_bytes, cache->total_objects * cache->slab_size));
}

static void print_sampling(const struct cache *cache)
{
	const uint64_t missed = model_number(cache->json, "sample_missed");

	printf("one in %" PRIu64 "\n", cache->sample);
	if (missed)
		printf("Samples missed: %" PRIu64
		       ". All guarded slabs were in use, or the process is at its limit; sample "
		       "fewer caches, or one in more.\n",
		       missed);
}

static void print_debugging(const struct cache *cache)
{
	printf("\nProblems found: %" PRIu64 "   Debug slabs: %" PRIu64 "   Legacy slabs: %" PRIu64
	       "   Sampled: ",
	       cache->errors, cache->debug_slabs, cache->legacy_slabs);
	if (cache->sample)
		print_sampling(cache);
	else
		puts("Off");
}

/* What can be changed while the process runs (--set), and what CPUs hold. */
static void print_limits(const struct options *options, const struct cache *cache)
{
	const uint64_t limit = model_number(cache->json, "limit");
	char text[SIZE_TEXT];

	printf("Min partial: %" PRIu64 "   Cpu objects: %" PRIu64 "   Limit: %s\n",
	       model_number(cache->json, "min_partial"), cache->cpu_objects,
	       limit ? size_shown(options, text, limit) : "Off");
}

/* --- what happened ------------------------------------------------------------------ */

/* Events for the two columns; NULL: not counted. */
struct counter {
	const char *label, *alloc, *free;
};

static void print_cell(int width, const struct cache *cache, const char *event)
{
	if (event)
		printf(" %*" PRIu64, width, model_event(cache, event));
	else
		printf(" %*s", width, "-");
}

/* Per cent of the allocations, or frees, that left the fast path. Some events happen
 * otherwise, too (slabs are released when arrays are closed): what is more than all
 * is no part of them. */
static void print_share(const struct cache *cache, const char *event, const char *all)
{
	if (event && model_event(cache, event) <= model_event(cache, all))
		printf(" %3" PRIu64, percent(model_event(cache, event), model_event(cache, all)));
	else
		printf(" %3s", "-");
}

/* Objects move between the arrays of CPUs, magazines and slabs, half an array at a time. */
static void print_counters(const struct cache *cache)
{
	static const struct counter rows[] = {
		{"Slowpath", "alloc_slowpath", "free_slowpath"},
		{"Page Alloc", "alloc_slab", "free_slab"},
		{"Refill/Flush", "alloc_refill", "free_flush"},
		{"Magazines", "alloc_magazine", "free_magazine"},
		{"OtherShard/Node", "alloc_other_shard", "free_other_node"},
		{"Node mismatch", "alloc_node_mismatch", NULL},
	};

	puts("\nSlab Perf Counter       Alloc     Free %Al %Fr\n"
	     "--------------------------------------------------");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		printf("%-20s", rows[i].label);
		print_cell(8, cache, rows[i].alloc);
		print_cell(8, cache, rows[i].free);
		print_share(cache, rows[i].alloc, "alloc_slowpath");
		print_share(cache, rows[i].free, "free_slowpath");
		putchar('\n');
	}
	printf("%-20s", "Arrays closed");
	print_cell(8, cache, "arrays_closed");
	putchar('\n');
}

/* What is known of the fast path: how many allocations there were in the moments in
 * which all were counted. */
static void print_rate(const struct options *options, const struct cache *cache)
{
	const uint64_t counted = model_number(cache->json, "counted");
	const uint64_t us = model_number(cache->json, "counted_us");
	const bool seconds = us >= 100000;
	char text[SIZE_TEXT];
	uint64_t rate;

	if (cache_rate(cache, &rate))
		printf("%-20s %8s in a second (%" PRIu64 " counted in %.1f %s)\n", "Allocations",
		       count_shown(options, text, rate), counted,
		       (double)us / (seconds ? 1e6 : 1e3), seconds ? "s" : "ms");
}

struct memory_row {
	const char *label, *number, *text, *other, *rest;
};

/* Memory that came back, or was kept: only what there is something to say of. */
static void print_memory(const struct cache *cache)
{
	static const struct memory_row rows[] = {
		{"Grace periods", "rcu_freed", "objects have waited for one, ", "rcu_pending",
		 " wait"},
		{"Held up", "rcu_helped", "frees, because too much waited", NULL, NULL},
		{"Limit", "limit_hits", "allocations failed because of a limit", NULL, NULL},
		{"Reserve", "reserve", "objects, of which ", "reserve_left", " are there"},
		{"Reclaim", "reclaimed", "objects given up, in ", "reclaims", " calls"},
		{"Moved", "moved", "objects to denser slabs", NULL, NULL},
	};
	bool titled = false;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t number = model_number(cache->json, rows[i].number);
		uint64_t other = rows[i].other ? model_number(cache->json, rows[i].other) : 0;

		if (!number && !other)
			continue;
		if (!titled)
			puts("\nMemory\n--------------------------------------------------");
		titled = true;
		printf("%-15s %9" PRIu64 " %s", rows[i].label, number, rows[i].text);
		if (rows[i].other)
			printf("%" PRIu64 "%s", other, rows[i].rest);
		putchar('\n');
	}
}

void view_report(const struct options *options, const struct cache *cache)
{
	print_properties(options, cache);
	print_sizes(cache);
	print_debugging(cache);
	print_limits(options, cache);
	numa_report(options, cache);
	print_counters(cache);
	print_rate(options, cache);
	print_memory(cache);
}
