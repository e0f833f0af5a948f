/* SPDX-License-Identifier: MIT */
/* The report as text: a table for each clump, and the bytes per pblock. */
#include "report.h"
#include "fail.h"
#include "layouts.h"

#include <inttypes.h>
#include <stdio.h>

#define NAME_WIDTH 38

static void print_subject(const struct study *study, const struct subject *subject)
{
	const struct parameter *parameter = subject->parameter;

	printf("%6" PRIu32 " %-*s %-13s %5zu %12" PRIu64 " %12" PRIu64 " %6.1f\n",
	       parameter->number, NAME_WIDTH, parameter->name, group_name(parameter->group),
	       size_of_subject(subject), subject->gets, subject->sets,
	       share(subject->pblocks, study->workload->pblocks));
}

static void print_clump(const struct study *study, const struct clump *clump)
{
	printf("\n%s: %zu parameter%s, ", clump->name, clump->count, clump->count == 1 ? "" : "s");
	if (clump->size)
		printf("%zu bytes, set in %.1f %% of the pblocks\n", clump->size,
		       share(clump->pblocks, study->workload->pblocks));
	else
		printf("only read\n");
	for (size_t i = 0; i < clump->count; i++)
		print_subject(study, &study->subjects[study->order[clump->first + i]]);
}

int report_text(const struct study *study)
{
	printf("%" PRIu64 " pblocks, %" PRIu64 " gets, %" PRIu64 " sets\n",
	       study->workload->pblocks, study->workload->gets, study->workload->sets);
	if (study->count == 0) {
		printf("No parameter was touched.\n");
		return EXIT_DONE;
	}
	printf("\nParameters that the same pblocks use. %%: of the pblocks touch it\n"
	       "%6s %-*s %-13s %5s %12s %12s %6s\n",
	       "number", NAME_WIDTH, "parameter", "home", "bytes", "gets", "sets", "%");
	for (size_t c = 0; c < study->clump_count; c++)
		print_clump(study, &study->clumps[c]);
	printf("\nBytes per pblock:");
	for (enum layout layout = 0; layout < LAYOUTS; layout++)
		printf(" %s %.1f", layout_name(layout), layout_bytes(study, layout));
	putchar('\n');
	return EXIT_DONE;
}
