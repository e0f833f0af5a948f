/* SPDX-License-Identifier: MIT */
/*
 * -t: the call sites of a cache's allocations and frees, in the columns of
 * the kernel's alloc_traces and free_traces. -r: each cache's report, and then
 * its call sites if they are known.
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

/* What the process answered about each cache. */
struct answers {
	struct json_object *allocated, *freed;
};

static bool show_cache(const struct options *options, struct process *process,
		       struct symbolizer *symbolizer, const struct cache *cache,
		       const struct answers *about)
{
	struct site_list allocated = {0}, freed = {0};
	bool added = sites_add(&allocated, cache, about->allocated) &&
		     sites_add(&freed, cache, about->freed);

	if (added && allocated.tracked)
		print_cache(options, symbolizer, cache, &allocated, &freed);
	else if (added)
		print_no_data(process, cache);
	sites_free(&allocated);
	sites_free(&freed);
	return added;
}

static bool show(const struct options *options, struct process *process,
		 struct symbolizer *symbolizer, const struct model *model,
		 const struct answers *answers)
{
	struct site_list list = {0};
	bool added = true;

	for (size_t i = 0; added && i < model->count; i++) {
		const struct cache *cache = &model->caches[i];
		const struct answers about = {json_object_array_get_idx(answers->allocated, i),
					      json_object_array_get_idx(answers->freed, i)};

		added = options->json ? sites_add(&list, cache, about.allocated) &&
						sites_add(&list, cache, about.freed)
				      : show_cache(options, process, symbolizer, cache, &about);
	}
	if (added && options->json)
		sites_print_json(symbolizer, &list);
	sites_free(&list);
	return added;
}

static bool is_tracked(const struct cache *cache)
{
	return cache->flags & SLAB_STORE_USER;
}

static size_t count_tracked(const struct model *model)
{
	size_t tracked = 0;

	for (size_t i = 0; i < model->count; i++)
		tracked += is_tracked(&model->caches[i]);
	return tracked;
}

static bool show_reports(const struct options *options, struct process *process,
			 struct symbolizer *symbolizer, const struct model *model,
			 const struct answers *answers)
{
	bool shown = true;

	for (size_t i = 0; shown && i < model->count; i++) {
		const struct cache *cache = &model->caches[i];
		const struct answers about = {json_object_array_get_idx(answers->allocated, i),
					      json_object_array_get_idx(answers->freed, i)};

		view_report(options, cache);
		if (!is_tracked(cache))
			continue;
		putchar('\n');
		shown = show_cache(options, process, symbolizer, cache, &about);
	}
	return shown;
}

typedef bool print_sites_of(const struct options *options, struct process *process,
			    struct symbolizer *symbolizer, const struct model *model,
			    const struct answers *answers);

/* The process answers about all caches at once. */
static int view_with_sites(const struct options *options, struct process *process,
			   const struct model *model, print_sites_of *print)
{
	struct symbolizer *symbolizer = symbols_open();
	struct answers answers = {NULL, NULL};
	bool shown = false;

	if (symbolizer)
		answers.allocated = sites_query(process, model, "allocated", 0);
	if (answers.allocated)
		answers.freed = sites_query(process, model, "freed", 0);
	if (answers.freed)
		shown = print(options, process, symbolizer, model, &answers);
	json_object_put(answers.allocated);
	json_object_put(answers.freed);
	symbols_close(symbolizer);
	return shown ? EXIT_DONE : EXIT_NOTHING;
}

int view_tracking(const struct options *options, struct process *process, const struct model *model)
{
	return view_with_sites(options, process, model, show);
}

int view_reports(const struct options *options, struct process *process, const struct model *model)
{
	if (count_tracked(model))
		return view_with_sites(options, process, model, show_reports);
	for (size_t i = 0; i < model->count; i++)
		view_report(options, &model->caches[i]);
	return EXIT_DONE;
}

/* --- growth since a mark ------------------------------------------------------------------ */

/*
 * --mark and --since-mark: what a running process allocated after a moment and
 * did not free, by call site. The report answers what grows, how fast, and
 * where it comes from, in that order.
 */

/* Rates over less time would say nothing. */
#define RATE_MS_MIN 1000

/* --- --mark -------------------------------------------------------------------- */

int action_mark(struct process *process, const struct model *model)
{
	struct json_object *answer = attach_query(process, "mark", NULL);
	size_t tracked = count_tracked(model);

	if (!answer)
		return EXIT_NOTHING;
	printf("Mark %" PRIu64 " is set in process %d (%s).\n", model_number(answer, "mark"),
	       process->pid, process->command);
	json_object_put(answer);
	if (tracked)
		printf("slabinfo -p %d --since-mark shows what is allocated from now on and not "
		       "freed,\nin the %zu cache%s with debug flag U.\n",
		       process->pid, tracked, plural(tracked));
	else
		printf("No cache tracks its users yet, so nothing will be known. To switch that "
		       "on:\n    slabinfo -p %d -du REGEXP\n",
		       process->pid);
	return EXIT_DONE;
}

/* --- --since-mark ---------------------------------------------------------------- */

/* What comes together in a minute; "-" when it is too early to say, or not known how
 * late it is (0 ms). */
static const char *rate_text(char text[SIZE_TEXT], uint64_t amount, uint64_t ms, bool is_bytes)
{
	const double rate = (double)amount * 60000 / (double)(ms ? ms : 1);

	if (ms < RATE_MS_MIN) {
		snprintf(text, SIZE_TEXT, "-");
		return text;
	}
	if (rate >= 10)
		return is_bytes ? size_text(text, (uint64_t)rate)
				: count_text(text, (uint64_t)rate);
	snprintf(text, SIZE_TEXT, "%.1f", rate);
	return text;
}

/* What a sentence says behind a size that does not name its unit. */
static const char *unit_word(const char *size)
{
	return strchr(size, 'B') ? "" : " bytes";
}

static void print_summary(const struct site_list *list, uint64_t ms)
{
	char size[SIZE_TEXT], objects[SIZE_TEXT], bytes[SIZE_TEXT];

	if (!list->count) {
		puts("Whatever was allocated since then is freed again.");
		return;
	}
	size_text(size, list->bytes);
	rate_text(bytes, list->bytes, ms, true);
	printf("%" PRIu64 " object%s with %s in all%s allocated since then and not freed",
	       list->objects, plural(list->objects), size, unit_word(size));
	if (ms >= RATE_MS_MIN)
		printf(": %s objects and\n%s%s more every minute",
		       rate_text(objects, list->objects, ms, false), bytes, unit_word(bytes));
	puts("\n\nObjects    Bytes  Objects/min  Bytes/min   Oldest  Youngest  Cache");
}

static void print_grown(struct symbolizer *symbolizer, const struct site *site, uint64_t ms)
{
	char size[SIZE_TEXT], objects[SIZE_TEXT], bytes[SIZE_TEXT];
	char youngest[AGE_TEXT], oldest[AGE_TEXT];

	printf("%7" PRIu64 " %8s %12s %10s %8s %9s  %s\n", site->count,
	       size_text(size, site->bytes), rate_text(objects, site->count, ms, false),
	       rate_text(bytes, site->bytes, ms, true),
	       age_text(oldest, model_number(site->json, "age_max")),
	       age_text(youngest, model_number(site->json, "age_min")), site->cache->name);
	site_print_stack(symbolizer, site, 0);
	putchar('\n');
}

static void print_left_out(const struct site_list *list, size_t shown)
{
	uint64_t objects = 0;

	for (size_t i = shown; i < list->count; i++)
		objects += list->sites[i].count;
	if (shown < list->count)
		printf("%7" PRIu64 " more of %zu other call site%s; -N %zu shows all\n\n", objects,
		       list->count - shown, plural(list->count - shown), list->count);
}

static void print_notes(struct process *process, const struct model *model,
			const struct site_list *list)
{
	size_t untracked = model->count - count_tracked(model);

	if (list->count)
		puts("Not all of these objects are leaks: the list also has objects that replaced older "
		     "ones\nand objects in normal use, but their number stops growing. The number of "
		     "leaked objects\ngrows each time you run the command, and the oldest is as old "
		     "as the mark.");
	if (untracked)
		printf("%zu cache%s do%s not have debug flag U and may hide more; slabinfo -p %d "
		       "-du REGEXP\nsets it.\n",
		       untracked, plural(untracked), untracked == 1 ? "es" : "", process->pid);
}

static bool query_all(struct site_list *list, struct process *process, const struct model *model,
		      uint64_t mark)
{
	struct json_object *traces = sites_query(process, model, "allocated", mark);
	bool added = traces;

	for (size_t i = 0; added && i < model->count; i++)
		if (is_tracked(&model->caches[i]))
			added = sites_add(list, &model->caches[i],
					  json_object_array_get_idx(traces, i));
	json_object_put(traces);
	sites_sort(list);
	return added;
}

static void print_leaks(const struct options *options, struct process *process,
			const struct model *model, struct symbolizer *symbolizer,
			const struct site_list *list, uint64_t mark)
{
	struct json_object *about = model_member(model->document, "process");
	uint64_t now = model_number(about, "now"); /* 0: a core file does not know */
	uint64_t ms = now ? now - mark : 0;
	size_t shown = lines_shown(options, list->count);
	char age[AGE_TEXT];

	printf("Process %d (%s), %s%safter mark %" PRIu64 ":\n", process->pid, process->command,
	       now ? age_text(age, ms) : "", now ? " " : "", mark);
	print_summary(list, ms);
	for (size_t i = 0; i < shown; i++)
		print_grown(symbolizer, &list->sites[i], ms);
	print_left_out(list, shown);
	print_notes(process, model, list);
}

/* The mark that the options name; 0 after an error message. The time of a core file's clock
 * is not known. */
static uint64_t choose_mark(const struct options *options, struct process *process,
			    struct json_object *about)
{
	uint64_t mark = options->mark ? options->mark : model_number(about, "mark");
	uint64_t now = model_number(about, "now");

	if (!mark)
		fail("process %d (%s) has no mark yet; --mark sets one", process->pid,
		     process->command);
	if (mark <= now || !now)
		return mark;
	fail("%" PRIu64 " is no mark of process %d (%s), whose clock stands at %" PRIu64, mark,
	     process->pid, process->command, now);
	return 0;
}

int view_since_mark(const struct options *options, struct process *process,
		    const struct model *model)
{
	uint64_t mark = choose_mark(options, process, model_member(model->document, "process"));
	struct symbolizer *symbolizer;
	struct site_list list = {0};
	bool answered = false;

	if (!mark)
		return EXIT_NOTHING;
	if (!count_tracked(model)) {
		fail("no cache%s%s%s tracks its users; slabinfo -p %d -du REGEXP switches that on, "
		     "and a mark after that is the first that helps",
		     options->pattern ? " that matches \"" : "",
		     options->pattern ? options->pattern : "", options->pattern ? "\"" : "",
		     process->pid);
		return EXIT_NOTHING;
	}
	symbolizer = symbols_open();
	if (symbolizer)
		answered = query_all(&list, process, model, mark);
	if (answered && options->json)
		sites_print_json(symbolizer, &list);
	else if (answered)
		print_leaks(options, process, model, symbolizer, &list, mark);
	sites_free(&list);
	symbols_close(symbolizer);
	return answered ? EXIT_DONE : EXIT_NOTHING;
}
