/* SPDX-License-Identifier: MIT */
/*
 * -v without the help of the process: of a core file, or of a process that stands still. The
 * reports are libslab's own; libslab leaves stacks in them as numbers, which are looked up here.
 */
#include "freeze.h"
#include "memory.h"
#include "sites.h"
#include "select.h"
#include "views.h"

/* The time limit unless --stop-limit gives one. */
#define STOP_LIMIT_S 10.0
#define SHOW_EVERY_US 100000

/* --- standing still --------------------------------------------------------------------------- */

static bool has_progress; /* progress */

void progress_show(const char *what, uint64_t done, uint64_t all)
{
	static uint64_t last_us;
	const uint64_t now_us = freeze_now();
	char size[SIZE_TEXT];

	if (!isatty(STDERR_FILENO) || (now_us - last_us < SHOW_EVERY_US && (!all || done < all)))
		return;
	last_us = now_us;
	has_progress = true;
	if (all)
		fprintf(stderr, "\r\033[K%s: %" PRIu64 " %%", what, done * 100 / all);
	else if (done)
		fprintf(stderr, "\r\033[K%s: %s", what, size_text(size, done));
	else
		fprintf(stderr, "\r\033[K%s", what);
}

void progress_clear(void)
{
	if (has_progress)
		fputs("\r\033[K", stderr);
	has_progress = false;
}

bool standing_take(const struct options *options, struct process *process,
		   struct snapshot *snapshot)
{
	bool taken;

	*snapshot = (struct snapshot){
		.limit_s = options->stop_limit != 0 ? options->stop_limit : STOP_LIMIT_S,
		.progress = progress_show,
	};
	taken = attach_stand_still(process, snapshot);
	progress_clear();
	return taken;
}

const char *standing_text(char text[STANDING_TEXT], const struct snapshot *snapshot)
{
	char size[SIZE_TEXT];

	text[0] = '\0';
	if (snapshot->still_us)
		snprintf(text, STANDING_TEXT, " stood still for %.1f ms while %s were copied",
			 (double)snapshot->still_us / 1000, size_text(size, snapshot->bytes));
	return text;
}

/* --- reports ---------------------------------------------------------------------------------- */

/* Where a line of a report has a return address: a frame, or "Allocated in 0x… age=…". NULL: it has
 * none. */
static const char *address_in(const char *line, size_t length)
{
	static const char *const starts[] = {"\t0x", "Allocated in 0x", "Freed in 0x"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		const size_t n = strlen(starts[i]);

		if (length >= n && memcmp(line, starts[i], n) == 0)
			return line + n - 2;
	}
	return NULL;
}

/* Print the line with `text` for the address in it. */
static void print_named(const char *line, size_t length, const char *at, char *text)
{
	const char *end = at + 2 + strspn(at + 2, "0123456789abcdef");

	make_printable(text);
	printf("%.*s%s%.*s\n", (int)(at - line), line, text, (int)(line + length - end), end);
}

/* A frame becomes a line for each function there. */
static void print_address(struct process *process, struct symbolizer *symbolizer, const char *line,
			  size_t length, const char *at)
{
	const uint64_t address = strtoull(at, NULL, 16);
	const struct symbol_frame *frame;
	uint64_t offset;
	const char *file = memory_locate(process->memory, address - 1, &offset);
	char text[SITE_TEXT];
	size_t count;

	if (!file) {
		printf("%.*s\n", (int)length, line);
		return;
	}
	frame = symbolizer_lookup(symbolizer, file, offset + 1, CALLEE_UNKNOWN, &count);
	if (!count)
		print_named(line, length, at, code_text(text, file, offset + 1));
	for (size_t i = 0; i < count && (i == 0 || *line == '\t'); i++)
		print_named(line, length, at, symbol_frame_text(&frame[i], text, SYMBOLIZER_TEXT));
}

static void print_line(struct process *process, struct symbolizer *symbolizer, const char *line,
		       size_t length)
{
	const char *at = address_in(line, length);

	if (at)
		print_address(process, symbolizer, line, length, at);
	else
		printf("%.*s\n", (int)length, line);
}

static void print_report(struct process *process, struct symbolizer *symbolizer, const char *report)
{
	while (*report) {
		const size_t length = strcspn(report, "\n");

		print_line(process, symbolizer, report, length);
		report += length + (report[length] == '\n');
	}
	putchar('\n');
}

/* --- caches ----------------------------------------------------------------------------------- */

static void print_left_out(struct json_object *answer)
{
	const uint64_t slabs = model_number(answer, "left_out");
	const uint64_t locked = model_number(answer, "locked");

	if (slabs)
		printf("; %" PRIu64 " debug slab%s left out, which a thread may be changing", slabs,
		       plural(slabs));
	else if (locked)
		printf("; the lists of %" PRIu64
		       " node%s or CPU%s left out, which a thread may be changing",
		       locked, plural(locked), plural(locked));
	putchar('\n');
}

/* What was found in a cache. */
struct verified {
	struct json_object *json; /* NULL: it is gone */
	uint64_t reports; /* that were printed */
};

static void print_verified(const struct verified *verified, const char *name)
{
	const uint64_t found = model_number(verified->json, "problems");

	if (!found)
		printf("%-21s no problems found", name);
	else
		printf("%-21s %8" PRIu64 " problem%s found", name, found, plural(found));
	if (verified->reports < found)
		printf("; the first %" PRIu64 " are reported", verified->reports);
	print_left_out(verified->json);
}

/* Print the reports of those caches, and count them. */
static void print_reports(struct process *process, struct symbolizer *symbolizer,
			  struct json_object *reports, const size_t *places,
			  struct verified *verified, size_t count)
{
	for (size_t i = 0; i < model_length(reports); i++) {
		struct json_object *row = json_object_array_get_idx(reports, i);
		const uint64_t number = json_object_get_uint64(json_object_array_get_idx(row, 0));
		const size_t place = places[number];

		if (place == count)
			continue;
		verified[place].reports++;
		print_report(process, symbolizer,
			     json_object_get_string(json_object_array_get_idx(row, 1)));
	}
}

/* Validate these caches, and print what is found. -1 after an error message; otherwise the
 * problems. */
static int64_t verify(struct process *process, struct symbolizer *symbolizer,
		      const struct cache *caches, size_t count)
{
	struct json_object *answer =
		attach_query(process, "validate", count == 1 ? caches->name : NULL);
	struct json_object *listed = model_member(answer, "caches");
	size_t *places = answer ? select_places(listed, caches, count) : NULL;
	struct verified *verified = places ? calloc(count + 1, sizeof(*verified)) : NULL;
	int64_t problems = verified ? 0 : -1;

	if (answer && !verified)
		fail("no memory for %zu caches", count);
	for (size_t i = 0; i < model_length(listed) && verified; i++)
		verified[places[i]].json = json_object_array_get_idx(listed, i);
	if (verified)
		print_reports(process, symbolizer, model_member(answer, "reports"), places,
			      verified, count);
	for (size_t i = 0; i < count && verified; i++) {
		if (!verified[i].json)
			continue;
		print_verified(&verified[i], caches[i].name);
		problems += (int64_t)model_number(verified[i].json, "problems");
	}
	free(verified);
	free(places);
	json_object_put(answer);
	return problems;
}

static void print_still(const struct process *process, const struct snapshot *snapshot)
{
	char text[STANDING_TEXT];

	if (*standing_text(text, snapshot))
		printf("Process %d (%s)%s.\n", process->pid, process->command, text);
}

/* The caches that were selected, and large allocations, which have red zones only with the debug
 * flag Z of the environment. */
static struct cache *with_large(const struct options *options, const struct model *model,
				size_t *ret_count)
{
	const struct selection selection =
		select_among(model->document, options->pattern, &options->regex);
	struct cache *caches = calloc(model->count + 1, sizeof(*caches));

	if (!caches) {
		fail("no memory for %zu caches", model->count);
		return NULL;
	}
	memcpy(caches, model->caches, model->count * sizeof(*caches));
	caches[model->count].name = LARGE_NAME;
	*ret_count = model->count + select_means(&selection, LARGE_NAME);
	return caches;
}

int action_verify(const struct options *options, struct process *process, const struct model *model)
{
	struct symbolizer *symbolizer = symbols_open();
	struct snapshot snapshot;
	size_t count = 0;
	struct cache *caches = symbolizer ? with_large(options, model, &count) : NULL;
	int status = EXIT_USAGE;

	if (caches && standing_take(options, process, &snapshot)) {
		print_still(process, &snapshot);
		status = verify(process, symbolizer, caches, count) == 0 ? EXIT_DONE : EXIT_NOTHING;
	}
	free(caches);
	symbols_close(symbolizer);
	return status;
}
