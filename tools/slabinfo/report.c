/* SPDX-License-Identifier: MIT */
/*
 * -r: all that is known about a cache, in the kernel tool's layout. What SLUB
 * counts on its fast path is not counted here at all; the events that leave the
 * fast path are.
 */
#include "views.h"

#include <inttypes.h>
#include <slab/slab.h>
#include <stdio.h>

static void print_properties(const struct cache *cache)
{
	printf("\nSlabcache: %-15s  Aliases: %2zu Order : %2" PRIu64 " Objects: %" PRIu64 "\n",
	       cache->name, cache->aliases, cache->order, cache->objects);
	if (cache->aliases) {
		printf("** Shared with");
		for (size_t i = 0; i < cache->aliases; i++)
			printf(" %s", model_alias(cache, i));
		putchar('\n');
	}
	if (cache->flags & SLAB_HWCACHE_ALIGN)
		puts("** Hardware cacheline aligned");
	if (cache->flags & SLAB_TYPESAFE_BY_RCU)
		puts("** Slabs are destroyed via RCU");
	if (cache->flags & SLAB_RECLAIM_ACCOUNT)
		puts("** Reclaim accounting active");
	if (cache->flags & SLAB_ZERO)
		puts("** Objects are zeroed on allocation");
	if (cache->flags & SLAB_FAILSLAB)
		puts("** Allocations may be made to fail (A)");
	if (cache->has_ctor)
		puts("** Objects are constructed once per slab");
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
	const uint64_t slab = cache_slab_bytes(cache), objects = cache->objects_per_slab;

	puts("\nSizes (bytes)     Slabs              Debug                Memory\n"
	     "------------------------------------------------------------------------");
	print_row("Object ", cache->object_size, "Total  ", cache->slabs, "Sanity Checks",
		  on_off(cache, SLAB_CONSISTENCY_CHECKS), "Total", cache_bytes(cache));
	print_row("SlabObj", cache->slab_size, "Full   ", cache->full, "Redzoning    ",
		  on_off(cache, SLAB_RED_ZONE), "Used ", cache_used_bytes(cache));
	print_row("SlabSiz", slab, "Partial", cache->partial, "Poisoning    ",
		  on_off(cache, SLAB_POISON), "Loss ",
		  minus(cache_bytes(cache), cache_used_bytes(cache)));
	print_row("Loss   ", minus(cache->slab_size, cache->object_size), "CpuSlab",
		  cache->cpu_slabs, "Tracking     ", on_off(cache, SLAB_STORE_USER), "Lalig",
		  minus(cache->slab_size, cache->object_size) * cache->objects);
	print_row("Align  ", cache->align, "Objects", objects, "Tracing      ",
		  on_off(cache, SLAB_TRACE), "Lpadd",
		  minus(slab, objects * cache->slab_size) * cache->slabs);
}

static void print_debugging(const struct cache *cache)
{
	printf("\nProblems found: %" PRIu64 "   Debug slabs: %" PRIu64 "   Draining: %" PRIu64
	       "   Sampled: ",
	       cache->errors, cache->debug_slabs, cache->draining_slabs);
	if (cache->sample)
		printf("one in %" PRIu64 "\n", cache->sample);
	else
		puts("Off");
}

static void print_nodes(const struct cache *cache)
{
	static const char *const rows[][2] = {
		{"All slabs", "slabs"}, {"Partial slabs", "partial"}, {"Objects", "objects"}};
	struct json_object *nodes = model_member(cache->json, "nodes");
	size_t count =
		json_object_is_type(nodes, json_type_array) ? json_object_array_length(nodes) : 0;

	if (count < 2)
		return;
	printf("\n%-15s", "NUMA nodes");
	for (size_t n = 0; n < count; n++)
		printf(" %8zu", n);
	printf("\n------------------------------------------------------------------------\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		printf("%-15s", rows[i][0]);
		for (size_t n = 0; n < count; n++)
			printf(" %8" PRIu64,
			       model_number(json_object_array_get_idx(nodes, n), rows[i][1]));
		putchar('\n');
	}
}

/* Percentages are of the allocations and frees that left the fast path. */
static void print_counters(const struct cache *cache)
{
	static const struct {
		const char *label, *alloc, *free;
	} rows[] = {
		{"Slowpath", "alloc_slowpath", "free_slowpath"},
		{"Page Alloc", "alloc_slab", "free_slab"},
		{"Add partial", NULL, "free_add_partial"},
		{"Remove partial", "alloc_from_node", NULL},
		{"Cpu partial list", "alloc_from_partial", "free_own"},
		{"RemoteObj/Batches", "free_remote_batch", "free_remote"},
	};
	const uint64_t allocs = model_event(cache, "alloc_slowpath");
	const uint64_t frees = model_event(cache, "free_slowpath");

	puts("\nSlab Perf Counter       Alloc     Free %Al %Fr\n"
	     "--------------------------------------------------");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t alloc = rows[i].alloc ? model_event(cache, rows[i].alloc) : 0;
		uint64_t freed = rows[i].free ? model_event(cache, rows[i].free) : 0;

		printf("%-20s %8" PRIu64 " %8" PRIu64 " %3" PRIu64 " %3" PRIu64 "\n", rows[i].label,
		       alloc, freed, percent(alloc, allocs), percent(freed, frees));
	}
	printf("%-20s %8" PRIu64 "\n", "Flushes", model_event(cache, "flush"));
}

static void print_deactivation(const struct cache *cache)
{
	static const char *const rows[][2] = {
		{"Slab full", "deactivate_full"},
		{"Refilled from foreign frees", "alloc_refill"},
		{"Node mismatch", "alloc_node_mismatch"},
		{"Cpu partial list drained", "cpu_partial_drain"},
		{"Handed to another CPU", "incoming"},
	};
	const size_t count = sizeof(rows) / sizeof(rows[0]);
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += model_event(cache, rows[i][1]);
	if (!total)
		return;
	puts("\nSlab Deactivation             Occurrences %\n"
	     "--------------------------------------------------");
	for (size_t i = 0; i < count; i++) {
		uint64_t times = model_event(cache, rows[i][1]);

		printf("%-27s %13" PRIu64 " %3" PRIu64 "%%\n", rows[i][0], times,
		       percent(times, total));
	}
}

void view_report(const struct options *options, const struct model *model)
{
	(void)options;

	for (size_t i = 0; i < model->count; i++) {
		const struct cache *cache = &model->caches[i];

		print_properties(cache);
		print_sizes(cache);
		print_debugging(cache);
		print_nodes(cache);
		print_counters(cache);
		print_deactivation(cache);
	}
}
