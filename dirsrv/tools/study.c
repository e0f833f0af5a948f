/* SPDX-License-Identifier: MIT */
/*
 * The counts of a study: accesses of each parameter, and how many pblocks touch two of them.
 * cluster.c and cut.c make the tree and the clumps.
 */
#include "study.h"
#include "fail.h"

#include <stdlib.h>

/* Subjects */

static bool is_countable(const struct study *study)
{
	return study->pblocks <= COUNT_MAX && study->gets <= COUNT_MAX && study->sets <= COUNT_MAX;
}

static void count_totals(struct study *study, struct subject *all)
{
	for (size_t w = 0; w < study->workload_count && is_countable(study); w++) {
		const struct workload *workload = &study->workloads[w];

		study->pblocks += workload->pblocks;
		study->gets += workload->gets;
		study->sets += workload->sets;
		for (size_t k = 0; k < workload->count; k++) {
			const struct kind_of_life *kind = &workload->kinds[k];

			for (size_t i = 0; i < kind->count; i++) {
				struct subject *subject = &all[kind->uses[i].number];

				subject->gets += kind->uses[i].gets;
				subject->sets += kind->uses[i].sets;
				subject->pblocks += kind->whole ? kind->pblocks : 0;
				subject->is_touched = true;
			}
		}
	}
}

static bool make_subjects(struct study *study)
{
	struct subject *all = calloc(SLAB_PBLOCK_NUMBERS, sizeof(*all));

	if (!all)
		return false;
	count_totals(study, all);
	for (uint32_t number = 0; number < SLAB_PBLOCK_NUMBERS; number++) {
		all[number].number = number;
		all[number].parameter = parameter_find(number);
		if (all[number].is_touched)
			all[study->count++] = all[number];
	}
	study->subjects = all;
	return true;
}

/* Co-use */

static void count_kind(struct study *study, const struct kind_of_life *kind)
{
	for (size_t i = 0; i < kind->count; i++) {
		size_t one = study_find(study, kind->uses[i].number);

		for (size_t j = 0; j < kind->count; j++) {
			size_t other = study_find(study, kind->uses[j].number);

			study->both[one * study->count + other] += kind->pblocks;
		}
	}
}

static bool count_both(struct study *study)
{
	study->both = calloc(study->count * study->count + 1, sizeof(*study->both));
	if (!study->both)
		return false;
	for (size_t w = 0; w < study->workload_count; w++) {
		for (size_t k = 0; k < study->workloads[w].count; k++) {
			if (study->workloads[w].kinds[k].whole)
				count_kind(study, &study->workloads[w].kinds[k]);
		}
	}
	return true;
}

bool study_make(struct study *study, const struct workload *workloads, size_t count)
{
	*study = (struct study){.workloads = workloads, .workload_count = count};
	if (make_subjects(study) && !is_countable(study)) {
		fail("the counts of all profiles have a sum of more than 2^53");
		return false;
	}
	if (study->subjects && count_both(study) && study_cluster(study) && study_cut(study))
		return true;
	fail("no memory for %zu parameters", study->count);
	return false;
}

void study_free(struct study *study)
{
	free(study->subjects);
	free(study->both);
	free(study->joins);
	free(study->order);
	free(study->clumps);
}
