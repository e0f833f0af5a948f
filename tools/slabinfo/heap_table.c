/* SPDX-License-Identifier: MIT */
/* --profile=peak: the call sites of the heap profile as a table. */
#include "heap.h"
#include "sites.h"
#include "views.h"

#include <stdio.h>
#include <stdlib.h>

/* Call sites that are shown unless -N says otherwise. */
#define SITES_SHOWN 20

static int by_bytes(const void *a, const void *b)
{
	const struct heap_site *left = a, *right = b;

	return (left->inuse_bytes < right->inuse_bytes) - (left->inuse_bytes > right->inuse_bytes);
}

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

static void print_site(const struct options *options, const struct heap *heap,
		       const struct heap_site *site)
{
	char peak[SIZE_TEXT], now[SIZE_TEXT], objects[SIZE_TEXT];

	printf("%9s %9s %8s %8llu\n", size_shown(options, peak, (uint64_t)site->inuse_bytes),
	       size_shown(options, now, (uint64_t)site->now_bytes),
	       count_shown(options, objects, (uint64_t)site->inuse_objects),
	       (unsigned long long)site->size);
	print_stack(heap, site);
}

int view_peak(const struct options *options, struct process *process)
{
	const size_t limit = options->lines ? options->lines : SITES_SHOWN;
	struct heap heap;
	int status = heap_load(&heap, process, true);

	if (status == EXIT_DONE) {
		qsort(heap.site, heap.sites, sizeof(*heap.site), by_bytes);
		print_title(&heap, process);
		puts("     Peak       Now  Objects  Objsize");
		for (size_t i = 0; i < heap.sites && i < limit && heap.site[i].inuse_bytes > 0; i++)
			print_site(options, &heap, &heap.site[i]);
	}
	heap_free(&heap);
	return status;
}
