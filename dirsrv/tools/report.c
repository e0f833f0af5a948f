/* SPDX-License-Identifier: MIT */
/* The report as text: counts, co-use, clumps, bytes. */
#include "report.h"
#include "fail.h"
#include "layouts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME_WIDTH 38

const char *subject_name(const struct subject *subject)
{
	return subject->parameter ? subject->parameter->name : "unknown";
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static void print_head(const struct study *study)
{
	for (size_t w = 0; w < study->workload_count; w++) {
		const struct workload *workload = &study->workloads[w];

		printf("%s: %" PRIu64 " pblock%s, %" PRIu64 " gets, %" PRIu64 " sets",
		       workload->name, workload->pblocks, workload->pblocks == 1 ? "" : "s",
		       workload->gets, workload->sets);
		if (workload->earlier)
			printf("; %" PRIu64 " began before", workload->earlier);
		if (workload->dropped)
			printf("; %" PRIu64 " events dropped for want of memory",
			       workload->dropped);
		putchar('\n');
	}
}

/* Counts */

static int compare_accesses(const void *one, const void *other)
{
	const struct subject *a = *(const struct subject *const *)one;
	const struct subject *b = *(const struct subject *const *)other;
	uint64_t a_all = a->gets + a->sets, b_all = b->gets + b->sets;

	if (a_all != b_all)
		return a_all < b_all ? 1 : -1;
	return (a->number > b->number) - (a->number < b->number);
}

static bool print_counts(const struct study *study)
{
	const struct subject **sorted = malloc((study->count + 1) * sizeof(const struct subject *));

	if (!sorted) {
		fail("no memory for %zu parameters", study->count);
		return false;
	}
	for (size_t i = 0; i < study->count; i++)
		sorted[i] = &study->subjects[i];
	qsort(sorted, study->count, sizeof(*sorted), compare_accesses);
	printf("\nAccesses. %%: of the pblocks touch it\n%6s %-*s %-13s %12s %12s %6s\n", "number",
	       NAME_WIDTH, "parameter", "home", "gets", "sets", "%");
	for (size_t i = 0; i < study->count; i++)
		printf("%6" PRIu32 " %-*s %-13s %12" PRIu64 " %12" PRIu64 " %6.1f\n",
		       sorted[i]->number, NAME_WIDTH, subject_name(sorted[i]),
		       sorted[i]->parameter ? group_name(sorted[i]->parameter->group) : "-",
		       sorted[i]->gets, sorted[i]->sets, share(sorted[i]->pblocks, study->pblocks));
	free(sorted);
	return true;
}

/* Co-use */

/* A likeness as a character: '0' to '9' tenths, '#' for 1, '.' for 0. */
static char likeness_letter(double likeness)
{
	if (likeness >= 1)
		return '#';
	return likeness > 0 ? (char)('0' + (int)(likeness * 10)) : '.';
}

static void print_matrix(const struct study *study)
{
	printf("\nUsed together: a digit N says that of the pblocks that touch either parameter,\n"
	       "N tenths touch both; # all, . none. Columns are as rows; blanks separate clumps.\n");
	for (size_t i = 0; i < study->count; i++) {
		size_t row = study->order[i], last = study->subjects[study->order[0]].clump;

		printf("%-2s %5" PRIu32 " ", study->clumps[study->subjects[row].clump].name,
		       study->subjects[row].number);
		for (size_t j = 0; j < study->count; j++) {
			size_t column = study->order[j];

			if (study->subjects[column].clump != last)
				putchar(' ');
			last = study->subjects[column].clump;
			putchar(likeness_letter(study_likeness(study, row, column)));
		}
		putchar('\n');
	}
}

/* Clumps */

static void print_members(const struct study *study, const struct clump *clump)
{
	for (size_t i = 0; i < clump->count; i++) {
		const struct subject *subject = &study->subjects[study->order[clump->first + i]];

		if (subject->sets)
			printf("  %-*s %3zu bytes\n", NAME_WIDTH, subject_name(subject),
			       size_of_subject(subject));
	}
	for (size_t i = 0; i < clump->count; i++) {
		const struct subject *subject = &study->subjects[study->order[clump->first + i]];

		if (!subject->sets)
			printf("  %-*s only read\n", NAME_WIDTH, subject_name(subject));
	}
}

static void print_clumps(const struct study *study)
{
	printf("\nClumps: " METHOD "\n");
	for (size_t c = 0; c < study->clump_count; c++) {
		const struct clump *clump = &study->clumps[c];

		printf("%s: %zu parameter%s within %.3f", clump->name, clump->count,
		       clump->count == 1 ? "" : "s", clump->distance);
		if (!clump->size)
			printf(", never set\n");
		else
			printf(", %zu bytes%s, set in %.1f %% of the pblocks\n", clump->size,
			       clump->in_top ? " in the top" : "",
			       share(clump->pblocks, study->pblocks));
		print_members(study, clump);
	}
}

static void print_split(const struct study *study)
{
	size_t parts = 0;

	for (size_t c = 0; c < study->clump_count; c++)
		parts += study->clumps[c].size && !study->clumps[c].in_top;
	printf("\nProposed: a top of %zu bytes with %s to %zu struct%s allocated when\n"
	       "%s set first, and to one for what was never set.\n",
	       study->top_size, parts == 1 ? "a pointer" : "pointers", parts,
	       parts == 1 ? " that is" : "s that are", parts == 1 ? "it is" : "they are");
}

/* Bytes */

static void print_bytes(const struct study *study)
{
	printf("\nBytes per pblock\n%-24s %10s", "workload", "pblocks");
	for (enum layout layout = 0; layout < LAYOUTS; layout++)
		printf(" %10s", layout_name(layout));
	putchar('\n');
	for (size_t w = 0; w < study->workload_count; w++) {
		const struct workload *workload = &study->workloads[w];

		printf("%-24s %10" PRIu64, workload->name, workload->pblocks);
		for (enum layout layout = 0; layout < LAYOUTS; layout++)
			printf(" %10.1f", workload_bytes(study, workload, layout));
		putchar('\n');
	}
}

int report_text(const struct study *study)
{
	print_head(study);
	if (study->count == 0) {
		printf("No parameter was touched.\n");
		return EXIT_DONE;
	}
	if (!print_counts(study))
		return EXIT_USAGE;
	print_matrix(study);
	print_clumps(study);
	print_split(study);
	print_bytes(study);
	return EXIT_DONE;
}
