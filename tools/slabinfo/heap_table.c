/* SPDX-License-Identifier: MIT */
/* --profile=peak and --profile=lifetimes: the call sites of the heap profile as tables. */
#include "heap.h"
#include "sites.h"
#include "views.h"

static void print_place(const struct heap_place *place)
{
	char text[HEAP_TEXT];

	if (!place->calls)
		printf("        %s\n", heap_place_text(place, text));
	for (size_t i = 0; i < place->calls; i++) {
		const struct heap_call *call = &place->call[i];

		printf("        %s", call->function);
		if (call->file)
			printf(" (%s:%ld)", call->file, call->line);
		putchar('\n');
	}
}

static void print_stack(const struct heap *heap, const struct heap_site *site)
{
	if (*site->type)
		printf("        of type %s\n", site->type);
	for (size_t i = 0; i < site->frames; i++)
		print_place(&heap->place[site->place[i]]);
	putchar('\n');
}

/* --- the peak ----------------------------------------------------------------------------- */

static void print_title(const struct heap *heap, const struct process *process)
{
	const uint64_t now = model_number(heap->answer, "now");
	char age[AGE_TEXT], peak[SIZE_TEXT], left[SIZE_TEXT];

	printf("Peak of process %d (%s)", process->pid, process->command);
	if (now) /* a core file has no clock */
		printf(" %s ago", age_text(age, now - model_number(heap->answer, "peak")));
	printf(": %s in use, now %s; estimates from %llu samples\n\n",
	       size_text(peak, (uint64_t)heap->inuse_bytes),
	       size_text(left, (uint64_t)heap->now_bytes), (unsigned long long)heap->samples);
}

static void print_peak(const struct options *options, const struct heap_site *site)
{
	char peak[SIZE_TEXT], now[SIZE_TEXT], objects[SIZE_TEXT];

	printf("%9s %9s %8s %8llu\n", size_shown(options, peak, (uint64_t)site->inuse_bytes),
	       size_shown(options, now, (uint64_t)site->now_bytes),
	       count_shown(options, objects, (uint64_t)site->inuse_objects),
	       (unsigned long long)site->size);
}

static double peak_of(const struct heap_site *site)
{
	return site->inuse_bytes;
}

/* --- lifetimes ---------------------------------------------------------------------------- */

static const char *lifetime_text(char text[AGE_TEXT], size_t i)
{
	const uint64_t us = UINT64_C(1) << i;

	if (us < 1000)
		snprintf(text, AGE_TEXT, "%lluus", (unsigned long long)us);
	else
		age_text(text, us / 1000);
	return text;
}

/* "8us 60%  16us 38%": shares below a half per cent are left out. */
static void print_histogram(const struct heap_site *site)
{
	struct json_object *lifetimes = model_member(site->json, "lifetimes");
	const size_t count = model_length(lifetimes);
	uint64_t all = 0;

	for (size_t i = 0; i < count; i++)
		all += json_object_get_uint64(json_object_array_get_idx(lifetimes, i));
	for (size_t i = 0; i < count && i < 64; i++) {
		const uint64_t n = json_object_get_uint64(json_object_array_get_idx(lifetimes, i));
		char text[AGE_TEXT];

		if (n && all && 200 * n >= all) /* the process may send any numbers */
			printf("  %s %llu%%", lifetime_text(text, i),
			       (unsigned long long)((100 * n + all / 2) / all));
	}
	putchar('\n');
}

static void print_lifetimes(const struct options *options, const struct heap_site *site)
{
	const uint64_t freed = model_number(site->json, "freed");
	char objects[SIZE_TEXT], bytes[SIZE_TEXT];

	printf("%8s %9s %8llu %8llu%%",
	       count_shown(options, objects, (uint64_t)site->freed_objects),
	       size_shown(options, bytes, (uint64_t)site->now_bytes),
	       (unsigned long long)site->size,
	       (unsigned long long)percent(model_number(site->json, "here"), freed));
	print_histogram(site);
}

static double freed_of(const struct heap_site *site)
{
	return site->freed_objects;
}

/* --- the tables ---------------------------------------------------------------------------- */

struct table {
	const char *columns;
	double (*key)(const struct heap_site *site); /* the most first; sites with 0 are left out */
	void (*print)(const struct options *options, const struct heap_site *site);
};

static const struct table peak_table = {"     Peak       Now  Objects  Objsize", peak_of,
					print_peak};
static const struct table lifetimes_table = {"   Freed       Now  Objsize Same CPU  Lifetimes from",
					     freed_of, print_lifetimes};

static int compare(const void *a, const void *b, void *arg)
{
	const struct table *table = arg;
	const double left = table->key(a), right = table->key(b);

	return (left < right) - (left > right);
}

static void print_table(const struct options *options, const struct heap *heap,
			const struct table *table)
{
	size_t count = 0, shown;

	qsort_r(heap->site, heap->sites, sizeof(*heap->site), compare, (void *)table);
	while (count < heap->sites && table->key(&heap->site[count]) > 0)
		count++;
	shown = lines_shown(options, count);
	puts(table->columns);
	for (size_t i = 0; i < shown; i++) {
		table->print(options, &heap->site[i]);
		print_stack(heap, &heap->site[i]);
	}
	if (count > shown)
		printf("%zu more call site%s; -N %zu shows all\n", count - shown,
		       plural(count - shown), count);
}

int view_peak(const struct options *options, struct process *process)
{
	struct heap heap;
	int status = heap_load(&heap, process, HEAP_AT_PEAK);

	if (status == EXIT_DONE) {
		print_title(&heap, process);
		print_table(options, &heap, &peak_table);
	}
	heap_free(&heap);
	return status;
}

int view_lifetimes(const struct options *options, struct process *process)
{
	struct heap heap;
	int status = heap_load(&heap, process, HEAP_NOW);

	if (status == EXIT_DONE) {
		printf("Lifetimes in process %d (%s); estimates from %llu samples\n\n",
		       process->pid, process->command, (unsigned long long)heap.samples);
		print_table(options, &heap, &lifetimes_table);
	}
	heap_free(&heap);
	return status;
}
