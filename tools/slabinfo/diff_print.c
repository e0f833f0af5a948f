/* SPDX-License-Identifier: MIT */
/* --diff: its table, and the same as JSON. */
#include "diff.h"
#include "sites.h"
#include "views.h"

/* --- what changed of one cache ---------------------------------------------------------------- */

/* Uptimes are whole seconds. */
#define START_EXACT_MS UINT64_C(2000)

int64_t growth_of(const struct growth *growth)
{
	uint64_t more = growth->after - growth->before, less = growth->before - growth->after;

	if (growth->after >= growth->before)
		return more > INT64_MAX ? INT64_MAX : (int64_t)more;
	return less > INT64_MAX ? -INT64_MAX : -(int64_t)less;
}

struct growth change_objects(const struct change *change)
{
	return (struct growth){change->before ? change->before->objects : 0,
			       change->after ? change->after->objects : 0};
}

struct growth change_bytes(const struct change *change)
{
	return (struct growth){change->before ? change->before->slab_bytes : 0,
			       change->after ? change->after->slab_bytes : 0};
}

bool change_is_same(const struct change *change)
{
	struct growth objects = change_objects(change), bytes = change_bytes(change);

	return change->before && change->after && objects.before == objects.after &&
	       bytes.before == bytes.after;
}

const char *change_name(const struct change *change)
{
	if (!change->before)
		return "new";
	if (!change->after)
		return "gone";
	return change_is_same(change) ? "same" : "changed";
}

/* When the process started, on the clock of its machine. */
static uint64_t start_ms(const struct diff_file *snapshot)
{
	return snapshot->now - snapshot->uptime * 1000;
}

bool diff_is_one_process(const struct diff *diff)
{
	const struct diff_file *before = &diff->before, *after = &diff->after;

	if (before->pid != after->pid || strcmp(before->command, after->command) != 0)
		return false;
	/* Numbers are given to other processes some day. */
	return !before->now || !after->now ||
	       start_ms(after) - start_ms(before) + START_EXACT_MS < 2 * START_EXACT_MS;
}

/* --- text and JSON ---------------------------------------------------------------------------- */

/* The table */

#define GROWTH_TEXT (SIZE_TEXT + 1)

/* "+1.2M", "-20", "0" */
static const char *growth_text(const struct options *options, char text[GROWTH_TEXT],
			       const struct growth *growth)
{
	int64_t more = growth_of(growth);
	const char *sign = more > 0 ? "+" : more < 0 ? "-" : "";
	char size[SIZE_TEXT];

	snprintf(text, GROWTH_TEXT, "%s%s", sign, size_shown(options, size, (uint64_t)llabs(more)));
	return text;
}

/* Columns of sizes, the sign not counted. */
static int size_width(const struct options *options)
{
	return options->bytes ? 14 : 7;
}

static void print_head(const struct options *options)
{
	const int width = size_width(options);

	printf("%-21s %s %s\n", "", "--------- Objects ---------",
	       options->bytes ? "------------------- Space -------------------"
			      : "-------- Space ---------");
	printf("%-21s %8s %8s %9s %*s %*s %*s\n", "Name", "before", "after", "growth", width,
	       "before", width, "after", width + 1, "growth");
}

static void print_row(const struct options *options, const char *name, struct growth objects,
		      struct growth bytes, const char *mark)
{
	const struct options exact = {.bytes = true};
	const int width = size_width(options);
	char more[GROWTH_TEXT], before[SIZE_TEXT], after[SIZE_TEXT], more_bytes[GROWTH_TEXT];

	printf("%-21s %8" PRIu64 " %8" PRIu64 " %9s %*s %*s %*s%s\n", name, objects.before,
	       objects.after, growth_text(&exact, more, &objects), width,
	       size_shown(options, before, bytes.before), width,
	       size_shown(options, after, bytes.after), width + 1,
	       growth_text(options, more_bytes, &bytes), mark);
}

static void print_changes(const struct options *options, const struct diff *diff)
{
	char total[64];

	print_head(options);
	for (size_t i = 0; i < diff->count; i++) {
		const struct change *change = &diff->changes[i];
		const char *mark = !change->before ? " new" : !change->after ? " gone" : "";

		print_row(options, change->name, change_objects(change), change_bytes(change),
			  mark);
	}
	snprintf(total, sizeof(total), "Total of %zu cache%s", diff->caches, plural(diff->caches));
	print_row(options, total, diff->objects, diff->bytes, "");
}

/* How long after `before` the other was taken, or before it. */
static void print_distance(const struct diff_file *before, const struct diff_file *after)
{
	bool exact = before->now && after->now;
	uint64_t from = exact ? before->now : before->uptime * 1000;
	uint64_t to = exact ? after->now : after->uptime * 1000;
	char age[AGE_TEXT];

	printf("Process %" PRIu64 " (%s): %s is %s %s than %s\n", after->pid, after->command,
	       after->file, age_text(age, to >= from ? to - from : from - to),
	       to >= from ? "later" : "earlier", before->file);
}

static void print_processes(const struct diff_file *before, const struct diff_file *after)
{
	char age[AGE_TEXT];

	printf("These are two processes:\n");
	printf("before: %" PRIu64 " (%s), up %s, of %s\n", before->pid, before->command,
	       age_text(age, before->uptime * 1000), before->file);
	printf("after:  %" PRIu64 " (%s), up %s, of %s\n", after->pid, after->command,
	       age_text(age, after->uptime * 1000), after->file);
}

void diff_print(const struct options *options, const struct diff *diff)
{
	if (diff_is_one_process(diff))
		print_distance(&diff->before, &diff->after);
	else
		print_processes(&diff->before, &diff->after);
	putchar('\n');
	print_changes(options, diff);
}

/* JSON */

static void add_snapshot(struct json_object *document, const char *key,
			 const struct diff_file *snapshot)
{
	struct json_object *json = json_object_new_object();

	model_add_text(json, "file", snapshot->file);
	model_add_number(json, "pid", snapshot->pid);
	model_add_text(json, "command", snapshot->command);
	model_add_number(json, "uptime", snapshot->uptime);
	json_object_object_add(document, key, json);
}

static void add_growth(struct json_object *object, const char *key, struct growth growth)
{
	struct json_object *json = json_object_new_object();

	model_add_number(json, "before", growth.before);
	model_add_number(json, "after", growth.after);
	json_object_object_add(json, "growth", json_object_new_int64(growth_of(&growth)));
	json_object_object_add(object, key, json);
}

static struct json_object *make_change(const struct change *change)
{
	struct json_object *json = json_object_new_object();

	model_add_text(json, "name", change->name);
	model_add_text(json, "change", change_name(change));
	add_growth(json, "objects", change_objects(change));
	add_growth(json, "bytes", change_bytes(change));
	return json;
}

void diff_print_json(const struct diff *diff)
{
	struct json_object *document = json_object_new_object();
	struct json_object *changes = json_object_new_array();
	struct json_object *total = json_object_new_object();

	add_snapshot(document, "before", &diff->before);
	add_snapshot(document, "after", &diff->after);
	json_object_object_add(document, "same_process",
			       json_object_new_boolean(diff_is_one_process(diff)));
	for (size_t i = 0; i < diff->count; i++)
		json_object_array_add(changes, make_change(&diff->changes[i]));
	json_object_object_add(document, "changes", changes);
	model_add_number(total, "caches", diff->caches);
	add_growth(total, "objects", diff->objects);
	add_growth(total, "bytes", diff->bytes);
	json_object_object_add(document, "total", total);
	puts(json_object_to_json_string_ext(document, JSON_STYLE));
	json_object_put(document);
}
