/* SPDX-License-Identifier: MIT */
/*
 * -t: the call sites of a cache's allocations and frees, in the columns of
 * the kernel's alloc_traces and free_traces.
 */
#include "select.h"
#include "sites.h"
#include "views.h"

#include <slab/slab.h>

static void print_site(struct symbolizer *symbolizer, const struct site *site)
{
	const uint64_t waste = model_number(site->json, "waste");
	const uint64_t first = model_number(site->json, "tid_min");
	const uint64_t last = model_number(site->json, "tid_max");
	char text[SITE_TEXT], min[AGE_TEXT], avg[AGE_TEXT], max[AGE_TEXT];

	printf("%7" PRIu64 " %s", site->count, site_symbol(symbolizer, site, text));
	if (waste && site->count)
		printf(" waste=%" PRIu64 "/%" PRIu64, waste, waste / site->count);
	printf(" age=%s/%s/%s pid=%" PRIu64, age_text(min, model_number(site->json, "age_min")),
	       age_text(avg, model_number(site->json, "age_avg")),
	       age_text(max, model_number(site->json, "age_max")), first);
	if (last != first)
		printf("-%" PRIu64, last);
	printf(" cpus=%s nodes=%s\n", model_text(site->json, "cpus"),
	       model_text(site->json, "nodes"));
	site_print_stack(symbolizer, site, 1);
	putchar('\n');
}

/* How to switch tracking on, with the debug flags that the cache has. */
static void print_advice(struct process *process, const struct cache *cache)
{
	const char *debug_flags = model_text(cache->json, "debug_flags");
	char pattern[PATTERN_TEXT];

	printf("    slabinfo -p %d -d", process->pid);
	for (; *debug_flags; debug_flags++) {
		if (*debug_flags != '-')
			putchar(*debug_flags == 'A' ? 'A' : tolower((unsigned char)*debug_flags));
	}
	printf("u %s\n\n", select_pattern(pattern, cache->name));
}

static void print_no_data(struct process *process, const struct cache *cache)
{
	if (cache->flags & SLAB_STORE_USER) {
		printf("%s: No data: no allocation since debug flag U was set\n\n", cache->name);
		return;
	}
	printf("%s: No data: debug flag U is not set. To set it:\n", cache->name);
	print_advice(process, cache);
}

static void print_sites(const struct options *options, struct symbolizer *symbolizer,
			const struct site_list *list)
{
	size_t shown =
		options->lines && options->lines < list->count ? options->lines : list->count;

	for (size_t i = 0; i < shown; i++)
		print_site(symbolizer, &list->sites[i]);
	if (shown < list->count)
		printf("and %zu more call site%s\n\n", list->count - shown,
		       plural(list->count - shown));
	if (!list->count)
		puts("None\n");
}

static void print_cache(const struct options *options, struct symbolizer *symbolizer,
			const struct cache *cache, const struct site_list *allocated,
			const struct site_list *freed)
{
	printf("%s: allocated objects by call site", cache->name);
	if (allocated->objects < cache->objects)
		printf(" (%" PRIu64 " of %" PRIu64 "; older ones are not tracked)",
		       allocated->objects, cache->objects);
	putchar('\n');
	print_sites(options, symbolizer, allocated);
	printf("%s: freed objects by call site\n", cache->name);
	print_sites(options, symbolizer, freed);
}

static bool show_cache(const struct options *options, struct process *process,
		       struct symbolizer *symbolizer, const struct cache *cache)
{
	struct site_list allocated = {0}, freed = {0};
	bool answered = sites_add(&allocated, process, cache, "allocated", 0) &&
			sites_add(&freed, process, cache, "freed", 0);

	if (answered && allocated.tracked)
		print_cache(options, symbolizer, cache, &allocated, &freed);
	else if (answered)
		print_no_data(process, cache);
	sites_free(&allocated);
	sites_free(&freed);
	return answered;
}

static bool show_json(struct process *process, struct symbolizer *symbolizer,
		      const struct model *model)
{
	struct site_list list = {0};
	bool answered = true;

	for (size_t i = 0; answered && i < model->count; i++)
		answered = sites_add(&list, process, &model->caches[i], "allocated", 0) &&
			   sites_add(&list, process, &model->caches[i], "freed", 0);
	if (answered)
		sites_print_json(symbolizer, &list);
	sites_free(&list);
	return answered;
}

int view_tracking(const struct options *options, struct process *process, const struct model *model)
{
	struct symbolizer *symbolizer = symbols_open();
	bool answered = symbolizer != NULL;

	if (answered && options->json) {
		answered = show_json(process, symbolizer, model);
	} else if (answered) {
		for (size_t i = 0; i < model->count; i++)
			answered &= show_cache(options, process, symbolizer, &model->caches[i]);
	}
	symbols_close(symbolizer);
	return answered ? EXIT_DONE : EXIT_NOTHING;
}
