/* SPDX-License-Identifier: MIT */
/* The counts of a study: accesses of each parameter, and how many pblocks touch two of them. */
#include "study.h"
#include "fail.h"

#include <stdlib.h>

/* Subjects */

static void count_uses(struct subject *all, const struct kind_of_life *kind)
{
	for (size_t i = 0; i < kind->count; i++) {
		struct subject *subject = &all[kind->uses[i].number];

		subject->gets += kind->uses[i].gets;
		subject->sets += kind->uses[i].sets;
		subject->pblocks += kind->whole ? kind->pblocks : 0;
		subject->is_touched = true;
	}
}

static bool make_subjects(struct study *study)
{
	struct subject *all = calloc(SLAB_PBLOCK_NUMBERS, sizeof(*all));

	if (!all)
		return false;
	for (size_t k = 0; k < study->workload->count; k++)
		count_uses(all, &study->workload->kinds[k]);
	for (uint32_t number = 0; number < SLAB_PBLOCK_NUMBERS; number++) {
		all[number].number = number;
		all[number].parameter = parameter_find(number);
		if (all[number].is_touched)
			all[study->count++] = all[number];
	}
	study->subjects = all;
	return true;
}

static int compare_number(const void *number, const void *subject)
{
	uint32_t a = *(const uint32_t *)number, b = ((const struct subject *)subject)->number;

	return (a > b) - (a < b);
}

struct subject *study_subject(const struct study *study, uint32_t number)
{
	return bsearch(&number, study->subjects, study->count, sizeof(*study->subjects),
		       compare_number);
}

size_t size_of_subject(const struct subject *subject)
{
	if (subject->sets == 0)
		return 0;
	return subject->parameter ? subject->parameter->size : POINTER_SIZE;
}

const char *subject_name(const struct subject *subject)
{
	return subject->parameter ? subject->parameter->name : "unknown";
}

double share(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* Co-use */

static void count_kind(struct study *study, const struct kind_of_life *kind)
{
	for (size_t i = 0; i < kind->count; i++) {
		size_t one = (size_t)(study_subject(study, kind->uses[i].number) - study->subjects);

		for (size_t j = 0; j < kind->count; j++) {
			const struct subject *other = study_subject(study, kind->uses[j].number);

			study->both[one * study->count + (size_t)(other - study->subjects)] +=
				kind->pblocks;
		}
	}
}

static bool count_both(struct study *study)
{
	study->both = calloc(study->count * study->count + 1, sizeof(*study->both));
	if (!study->both)
		return false;
	for (size_t k = 0; k < study->workload->count; k++) {
		if (study->workload->kinds[k].whole)
			count_kind(study, &study->workload->kinds[k]);
	}
	return true;
}

double study_likeness(const struct study *study, size_t one, size_t other)
{
	uint64_t both = study->both[one * study->count + other];
	uint64_t any = study->subjects[one].pblocks + study->subjects[other].pblocks - both;

	return any ? (double)both / (double)any : 0;
}

bool study_make(struct study *study, const struct workload *workload)
{
	*study = (struct study){.workload = workload};
	if (make_subjects(study) && count_both(study) && study_cluster(study) && study_cut(study))
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
