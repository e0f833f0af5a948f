/* SPDX-License-Identifier: MIT */
/*
 * The process answers with addresses and the files that they lie in. What is
 * there is looked up here, with the symbolizer that libslab's reports use.
 */
#include "sites.h"
#include "array.h"
#include "fail.h"
#include "select.h"

static bool add_site(struct site_list *list, const struct cache *cache, struct json_object *json)
{
	struct site *site =
		array_with_room(list->sites, list->count, &list->capacity, sizeof(*site));

	if (!site)
		return false;
	list->sites = site;
	site += list->count++;
	*site = (struct site){.cache = cache, .json = json, .count = model_number(json, "count")};
	site->bytes = site->count * cache->object_size;
	list->objects += site->count;
	list->bytes += site->bytes;
	return true;
}

struct json_object *sites_query(struct process *process, const struct model *model,
				const char *kind, uint64_t since)
{
	const char *name = model->count == 1 ? model->caches->name : NULL;
	struct json_object *answer, *listed, *traces;
	char request[64];
	size_t *places;
	bool gone;

	snprintf(request, sizeof(request), "traces %s %" PRIu64, kind, since);
	answer = select_query(process, request, name, &gone);
	if (!answer && !gone)
		return NULL;
	listed = model_member(answer, "traces");
	places = select_places(listed, model->caches, model->count);
	traces = places ? json_object_new_array() : NULL;
	if (!traces)
		fail("no memory for %zu caches", model->count);
	for (size_t i = 0; i < model_length(listed) && traces; i++)
		if (places[i] < model->count)
			json_object_array_put_idx(
				traces, places[i],
				json_object_get(json_object_array_get_idx(listed, i)));
	free(places);
	json_object_put(answer);
	return traces;
}

bool sites_add(struct site_list *list, const struct cache *cache, struct json_object *traces)
{
	struct json_object *sites = model_member(traces, "sites");

	if (!traces)
		return true;
	list->tracked += json_object_get_boolean(model_member(traces, "tracked"));
	if (!list->answers)
		list->answers = json_object_new_array();
	json_object_array_add(list->answers, json_object_get(traces));
	for (size_t i = 0; i < model_length(sites); i++) {
		if (!add_site(list, cache, json_object_array_get_idx(sites, i))) {
			fail("no memory for %zu call sites", list->count);
			return false;
		}
	}
	return true;
}

void sites_free(struct site_list *list)
{
	free(list->sites);
	json_object_put(list->answers);
	memset(list, 0, sizeof(*list));
}

static int by_count(const void *a, const void *b)
{
	const struct site *left = a, *right = b;

	return (left->count < right->count) - (left->count > right->count);
}

void sites_sort(struct site_list *list)
{
	if (list->count)
		qsort(list->sites, list->count, sizeof(*list->sites), by_count);
}

struct symbolizer *symbols_open(void)
{
	struct symbolizer *symbolizer = symbolizer_open();

	if (!symbolizer)
		fail("no memory for symbols");
	return symbolizer;
}

void symbols_close(struct symbolizer *symbolizer)
{
	if (symbolizer)
		symbolizer_close(symbolizer);
}

char *code_text(char text[SITE_TEXT], const char *file, uint64_t offset)
{
	const char *slash = strrchr(file, '/');

	snprintf(text, SITE_TEXT, "%.*s+0x%" PRIx64, SITE_TEXT - 24, slash ? slash + 1 : file,
		 offset);
	return text;
}

/* What an address is, in one text or several: the functions that are there, or the address. */
struct names {
	const struct symbol_frame *frame;
	size_t count; /* at least 1 */
	char text[SITE_TEXT];
};

static void find_names(struct symbolizer *symbolizer, struct json_object *address,
		       enum symbol_callee callee, struct names *names)
{
	const char *file = model_raw_text(address, "file");
	const uint64_t offset = model_number(address, "offset");
	const uint64_t number = model_number(address, "address");

	names->count = 0;
	if (*file)
		names->frame = symbolizer_lookup(symbolizer, file, offset, callee, &names->count);
	if (names->count)
		return;
	names->frame = NULL;
	names->count = 1;
	if (*file)
		code_text(names->text, file, offset);
	else if (number)
		snprintf(names->text, SITE_TEXT, "0x%" PRIx64, number);
	else
		strcpy(names->text, "...");
}

static const char *name_text(struct names *names, size_t i)
{
	if (names->frame)
		symbol_frame_text(&names->frame[i], names->text, SYMBOLIZER_TEXT);
	make_printable(names->text);
	return names->text;
}

const char *site_symbol(struct symbolizer *symbolizer, const struct site *site,
			char text[SITE_TEXT])
{
	struct json_object *stack = model_member(site->json, "stack");
	struct names names;

	if (!model_length(stack))
		return "?";
	find_names(symbolizer, json_object_array_get_idx(stack, 0), CALLEE_LIBSLAB, &names);
	snprintf(text, SITE_TEXT, "%s", name_text(&names, 0));
	return text;
}

void site_print_stack(struct symbolizer *symbolizer, const struct site *site, size_t skip)
{
	struct json_object *stack = model_member(site->json, "stack");
	struct names names;

	for (size_t i = 0; i < model_length(stack); i++) {
		find_names(symbolizer, json_object_array_get_idx(stack, i),
			   i ? CALLEE_LAST : CALLEE_LIBSLAB, &names);
		for (size_t j = 0; j < names.count; j++) {
			if (skip)
				skip--;
			else
				printf("        %s\n", name_text(&names, j));
		}
	}
}

static void add_symbols(struct symbolizer *symbolizer, struct json_object *address)
{
	struct names names;
	struct json_object *outer;

	find_names(symbolizer, address, CALLEE_UNKNOWN, &names);
	model_add_text(address, "symbol", name_text(&names, 0));
	if (names.count == 1)
		return;
	outer = json_object_new_array();
	for (size_t i = 1; i < names.count; i++)
		json_object_array_add(outer, json_object_new_string(name_text(&names, i)));
	json_object_object_add(address, "inlined_in", outer);
}

void site_add_symbols(struct symbolizer *symbolizer, const struct site *site)
{
	struct json_object *stack = model_member(site->json, "stack");

	for (size_t i = 0; i < model_length(stack); i++) {
		struct json_object *address = json_object_array_get_idx(stack, i);

		if (json_object_is_type(address, json_type_object))
			add_symbols(symbolizer, address);
	}
}

void sites_print_json(struct symbolizer *symbolizer, const struct site_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		site_add_symbols(symbolizer, &list->sites[i]);
	puts(list->answers ? json_object_to_json_string_ext(list->answers, JSON_STYLE) : "[ ]");
}

const char *age_text(char text[AGE_TEXT], uint64_t ms)
{
	const uint64_t s = ms / 1000, m = s / 60, h = m / 60;

	if (ms < 1000)
		snprintf(text, AGE_TEXT, "%" PRIu64 "ms", ms);
	else if (m == 0)
		snprintf(text, AGE_TEXT, "%" PRIu64 ".%" PRIu64 "s", s, ms / 100 % 10);
	else if (h == 0)
		snprintf(text, AGE_TEXT, "%" PRIu64 "m%02" PRIu64 "s", m, s % 60);
	else if (h < 48)
		snprintf(text, AGE_TEXT, "%" PRIu64 "h%02" PRIu64 "m", h, m % 60);
	else
		snprintf(text, AGE_TEXT, "%" PRIu64 "d%02" PRIu64 "h", h / 24, h % 24);
	return text;
}
