/* SPDX-License-Identifier: MIT */
/*
 * --find-leaks: allocated objects that the process cannot reach any more, by cache and, where debug
 * flag U recorded it, by call site. reach.c searches.
 */
#include "reach.h"
#include "select.h"
#include "sites.h"
#include "views.h"

#include <time.h>

#define ADDRESSES_SHOWN 3
#define HIDDEN_NAMES 4
#define AGAIN_NS 20000000

/* Leaks of one cache and call site: neighbours in the sorted list. */
struct group {
	const struct reach_leak *leak;
	size_t count;
	uint64_t bytes, held, held_bytes;
};

struct groups {
	struct group *group;
	size_t count;
	struct group all;
	size_t without_stack;
};

static struct json_object *cache_of(const struct reach *reach, uint32_t cache)
{
	return json_object_array_get_idx(model_member(reach->objects, "caches"), cache);
}

static const char *cache_name(const struct reach *reach, uint32_t cache)
{
	return cache == REACH_LARGE ? LARGE_NAME : model_text(cache_of(reach, cache), "name");
}

/* --- groups ----------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct reach_leak *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

static int by_site(const void *a, const void *b)
{
	const struct reach_leak *left = a, *right = b;

	if (left->cache != right->cache)
		return left->cache < right->cache ? -1 : 1;
	if (left->stack != right->stack)
		return left->stack < right->stack ? -1 : 1;
	return by_address(a, b);
}

static int by_bytes(const void *a, const void *b)
{
	const struct group *left = a, *right = b;
	const uint64_t l = left->bytes + left->held_bytes, r = right->bytes + right->held_bytes;

	if (l != r)
		return l < r ? 1 : -1;
	return (left->leak > right->leak) - (left->leak < right->leak);
}

static void add_leak(struct group *group, const struct reach_leak *leak)
{
	group->count++;
	group->bytes += leak->size;
	group->held += leak->held;
	group->held_bytes += leak->held_bytes;
}

static bool make_groups(const struct options *options, struct reach *reach, struct groups *groups)
{
	const struct selection selection =
		select_among(reach->objects, options->pattern, &options->regex);
	struct group *last = NULL;

	*groups = (struct groups){.group = calloc(reach->leaks + 1, sizeof(*groups->group))};
	if (!groups->group)
		return false;
	if (reach->leaks)
		qsort(reach->leak, reach->leaks, sizeof(*reach->leak), by_site);
	for (size_t i = 0; i < reach->leaks; i++) {
		const struct reach_leak *leak = &reach->leak[i];

		if (!select_means(&selection, cache_name(reach, leak->cache)))
			continue;
		if (!last || last->leak->cache != leak->cache || last->leak->stack != leak->stack) {
			last = &groups->group[groups->count++];
			last->leak = leak;
		}
		add_leak(last, leak);
		add_leak(&groups->all, leak);
		groups->without_stack += !leak->stack;
	}
	if (groups->count)
		qsort(groups->group, groups->count, sizeof(*groups->group), by_bytes);
	return true;
}

/* --- call sites ------------------------------------------------------------------------------- */

/* The site with this stack; false: none. The list of sites is ordered by id. */
static bool find_site(const struct reach *reach, uint32_t stack, struct site *site)
{
	struct json_object *sites = model_member(reach->objects, "sites");
	size_t low = 0, high = model_length(sites);

	while (stack && low < high) {
		const size_t middle = low + (high - low) / 2;
		struct json_object *json = json_object_array_get_idx(sites, middle);
		const uint64_t id = model_number(json, "id");

		if (id == stack) {
			*site = (struct site){.json = json};
			return true;
		}
		if (id < stack)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* --- text ------------------------------------------------------------------------------------- */

static void print_group(const struct options *options, const struct reach *reach,
			struct symbolizer *symbolizer, const struct group *group)
{
	const size_t shown = group->count < ADDRESSES_SHOWN ? group->count : ADDRESSES_SHOWN;
	char bytes[SIZE_TEXT], held[SIZE_TEXT];
	struct site site;

	printf("%7zu %9s %9" PRIu64 " %9s  %s ", group->count,
	       size_shown(options, bytes, group->bytes), group->held,
	       size_shown(options, held, group->held_bytes), cache_name(reach, group->leak->cache));
	for (size_t i = 0; i < shown; i++)
		printf(" 0x%" PRIx64, group->leak[i].address);
	puts(shown < group->count ? " ..." : "");
	if (find_site(reach, group->leak->stack, &site))
		site_print_stack(symbolizer, &site, 0);
}

/* The names of what the kernel hides; the number of them. */
static size_t hidden_names(const struct process *process, const char *names[])
{
	static const struct {
		unsigned flag;
		const char *name;
	} all[HIDDEN_NAMES] = {{MEMORY_HIDDEN_EPOLL, "epoll"},
			       {MEMORY_HIDDEN_IO_URING, "io_uring"},
			       {MEMORY_HIDDEN_SIGNALS, "signals"},
			       {MEMORY_HIDDEN_TIMERS, "timers"}};
	size_t count = 0;

	for (size_t i = 0; i < HIDDEN_NAMES; i++)
		if (memory_hidden(process->memory) & all[i].flag)
			names[count++] = all[i].name;
	return count;
}

static void print_hidden(const struct process *process)
{
	const char *names[HIDDEN_NAMES];
	const size_t count = hidden_names(process, names);

	if (!count)
		return;
	printf("\nOnly the kernel knows the pointers in ");
	for (size_t i = 0; i < count; i++)
		printf("%s%s", i ? ", " : "", names[i]);
	puts(": objects that have no others are listed, too.");
}

static void print_notes(const struct process *process, const struct groups *groups, size_t shown)
{
	print_hidden(process);
	if (shown < groups->count)
		printf("and %zu more; -N %zu shows all\n", groups->count - shown, groups->count);
	if (groups->without_stack && process->way != WAY_CORE)
		printf("\n%zu of them %s no call site; slabinfo -p %d -du REGEXP records that of "
		       "objects that are\nallocated from then on.\n",
		       groups->without_stack, groups->without_stack == 1 ? "has" : "have",
		       process->pid);
}

static void print_heading(const struct reach *reach, const struct process *process,
			  const struct snapshot *snapshot)
{
	char text[STANDING_TEXT], bytes[SIZE_TEXT], roots[SIZE_TEXT];
	const char *still = standing_text(text, snapshot);

	printf("Process %d (%s)%s%s\n", process->pid, process->command, still, *still ? "." : "");
	printf("%" PRIu64 " object%s with %s in all; searched from %s of other memory.\n",
	       reach->allocated, plural(reach->allocated), size_text(bytes, reach->bytes),
	       size_text(roots, reach->root_bytes));
}

static void print_leaks(const struct options *options, const struct reach *reach,
			const struct process *process, struct symbolizer *symbolizer,
			const struct groups *groups)
{
	const size_t shown = lines_shown(options, groups->count);
	char bytes[SIZE_TEXT], held[SIZE_TEXT];

	if (!groups->count) {
		puts("No leaks found.");
		return;
	}
	printf("%zu object%s with %s in all cannot be reached", groups->all.count,
	       plural(groups->all.count), size_text(bytes, groups->all.bytes));
	if (groups->all.held)
		printf(", and %" PRIu64 " with %s only from there", groups->all.held,
		       size_text(held, groups->all.held_bytes));
	puts(".\n\nObjects     Bytes   Holding     Bytes  Cache");
	for (size_t i = 0; i < shown; i++)
		print_group(options, reach, symbolizer, &groups->group[i]);
	print_notes(process, groups, shown);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static struct json_object *addresses_json(const struct group *group)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < group->count; i++)
		json_object_array_add(list, json_object_new_uint64(group->leak[i].address));
	return list;
}

static struct json_object *stack_json(const struct reach *reach, struct symbolizer *symbolizer,
				      uint32_t stack)
{
	struct site site;

	if (!find_site(reach, stack, &site))
		return json_object_new_array();
	site_add_symbols(symbolizer, &site);
	return json_object_get(model_member(site.json, "stack"));
}

static struct json_object *group_json(const struct reach *reach, struct symbolizer *symbolizer,
				      const struct group *group)
{
	struct json_object *object = json_object_new_object();

	model_add_text(object, "cache", cache_name(reach, group->leak->cache));
	model_add_number(object, "objects", group->count);
	model_add_number(object, "bytes", group->bytes);
	model_add_number(object, "held_objects", group->held);
	model_add_number(object, "held_bytes", group->held_bytes);
	json_object_object_add(object, "addresses", addresses_json(group));
	json_object_object_add(object, "stack", stack_json(reach, symbolizer, group->leak->stack));
	return object;
}

static struct json_object *hidden_json(const struct process *process)
{
	const char *names[HIDDEN_NAMES];
	const size_t count = hidden_names(process, names);
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(list, json_object_new_string(names[i]));
	return list;
}

static void print_json(const struct reach *reach, const struct process *process,
		       const struct snapshot *snapshot, struct symbolizer *symbolizer,
		       const struct groups *groups)
{
	struct json_object *document = json_object_new_object();
	struct json_object *leaks = json_object_new_array();

	model_add_number(document, "pid", (uint64_t)process->pid);
	model_add_text(document, "command", process->command);
	model_add_number(document, "still_us", snapshot->still_us);
	model_add_number(document, "copied_bytes", snapshot->bytes);
	model_add_number(document, "objects", reach->allocated);
	model_add_number(document, "object_bytes", reach->bytes);
	model_add_number(document, "root_bytes", reach->root_bytes);
	json_object_object_add(document, "hidden", hidden_json(process));
	for (size_t i = 0; i < groups->count; i++)
		json_object_array_add(leaks, group_json(reach, symbolizer, &groups->group[i]));
	json_object_object_add(document, "leaks", leaks);
	puts(json_object_to_json_string_ext(document, JSON_STYLE));
	json_object_put(document);
}

/* --- the view --------------------------------------------------------------------------------- */

static void show(const struct options *options, const struct reach *reach,
		 const struct process *process, const struct snapshot *snapshot,
		 struct symbolizer *symbolizer, const struct groups *groups)
{
	progress_clear();
	if (options->json) {
		print_json(reach, process, snapshot, symbolizer, groups);
		return;
	}
	print_heading(reach, process, snapshot);
	print_leaks(options, reach, process, symbolizer, groups);
}

/* What the process cannot reach at one moment; `snapshot` adds up. */
static bool look(const struct options *options, struct process *process, struct snapshot *snapshot,
		 struct reach *reach)
{
	struct json_object *objects, *regions;
	struct snapshot now;

	if (!standing_take(options, process, &now))
		return false;
	snapshot->still_us += now.still_us;
	snapshot->bytes += now.bytes;
	objects = attach_query(process, "objects", NULL);
	regions = objects ? attach_query(process, "regions", NULL) : NULL;
	if (!regions) {
		json_object_put(objects);
		return false;
	}
	if (!reach_load(reach, process->memory, objects, regions))
		return false;
	reach->progress = progress_show;
	return reach_search(reach);
}

/* Remove the leaks that an earlier look did not find. */
static void keep_known(struct reach *reach, const struct reach *earlier)
{
	size_t kept = 0;

	if (!reach->leaks)
		return;
	qsort(earlier->leak, earlier->leaks, sizeof(*earlier->leak), by_address);
	qsort(reach->leak, reach->leaks, sizeof(*reach->leak), by_address);

	for (size_t i = 0, k = 0; i < reach->leaks; i++) {
		const struct reach_leak *leak = &reach->leak[i];

		while (k < earlier->leaks && earlier->leak[k].address < leak->address)
			k++;
		if (k < earlier->leaks && earlier->leak[k].address == leak->address)
			reach->leak[kept++] = *leak;
	}
	reach->leaks = kept;
}

/*
 * A thread that moves objects between slabs and arrays has allocated them before it stores their
 * addresses. What is in such a state is not lost, and is elsewhere a moment later: a leak is what
 * two looks find.
 */
static bool look_again(const struct options *options, struct process *process,
		       struct snapshot *snapshot, struct reach *reach)
{
	const struct timespec moment = {.tv_nsec = AGAIN_NS};
	struct reach again = {0};
	bool searched;

	if (!reach->leaks || process->way == WAY_CORE)
		return true;
	nanosleep(&moment, NULL);
	searched = look(options, process, snapshot, &again);
	keep_known(&again, reach);
	reach_free(reach);
	*reach = again;
	return searched;
}

static int report(const struct options *options, const struct process *process,
		  const struct snapshot *snapshot, struct reach *reach)
{
	struct symbolizer *symbolizer = symbols_open();
	struct groups groups = {.group = NULL};
	int status = EXIT_USAGE;

	if (symbolizer && make_groups(options, reach, &groups)) {
		show(options, reach, process, snapshot, symbolizer, &groups);
		status = groups.count ? EXIT_NOTHING : EXIT_DONE;
	}
	free(groups.group);
	symbols_close(symbolizer);
	return status;
}

/* Whether the pattern means a cache or the large allocations, before the process has to stand
 * still; -1: yes. */
static int expect_match(const struct options *options, struct process *process)
{
	struct model model;
	bool any;

	if (!options->pattern)
		return -1;
	if (!select_take(options, process, &model))
		return EXIT_USAGE;
	any = model.count || regexec(&options->regex, LARGE_NAME, 0, NULL, 0) == 0;
	model_free(&model);
	return any ? -1 : select_fail(options, process);
}

int view_find_leaks(const struct options *options, struct process *process)
{
	struct snapshot snapshot = {0};
	struct reach reach = {0};
	int status = expect_match(options, process);

	if (status >= 0)
		return status;
	status = EXIT_USAGE;
	if (look(options, process, &snapshot, &reach) &&
	    look_again(options, process, &snapshot, &reach))
		status = report(options, process, &snapshot, &reach);
	reach_free(&reach);
	return status;
}
