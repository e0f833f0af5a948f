/* SPDX-License-Identifier: MIT */
/* The counts of a study: accesses of each parameter, and how many pblocks touch two of them. */
#include "study.h"

#include <stdlib.h>

/* Subjects */

size_t study_find(const struct study *study, const struct parameter *parameter)
{
	return study->index[parameter - parameters];
}

static bool make_subjects(struct study *study)
{
	study->subjects = calloc(parameters_count, sizeof(*study->subjects));
	study->index = calloc(parameters_count, sizeof(*study->index));
	return study->subjects && study->index;
}

static void count_use(struct study *study, const struct life *life, const struct use *use)
{
	size_t *index = &study->index[use->parameter - parameters];
	struct subject *subject;

	if (study->subjects[*index].parameter != use->parameter)
		*index = study->count++;
	subject = &study->subjects[*index];
	subject->parameter = use->parameter;
	subject->gets += use->gets;
	subject->sets += use->sets;
	subject->pblocks += life->pblocks;
}

static void count_uses(struct study *study)
{
	for (size_t i = 0; i < study->workload->count; i++) {
		const struct life *life = &study->workload->lives[i];

		for (size_t u = 0; u < life->count; u++)
			count_use(study, life, &life->uses[u]);
	}
}

size_t size_of_subject(const struct subject *subject)
{
	return subject->sets ? subject->parameter->size : 0;
}

double share(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* Co-use */

static void count_life(struct study *study, const struct life *life)
{
	for (size_t i = 0; i < life->count; i++) {
		size_t one = study_find(study, life->uses[i].parameter);

		for (size_t j = 0; j < life->count; j++) {
			size_t other = study_find(study, life->uses[j].parameter);

			study->both[one * study->count + other] += life->pblocks;
		}
	}
}

bool study_count(struct study *study)
{
	if (!make_subjects(study))
		return false;
	count_uses(study);
	study->both = calloc(study->count * study->count + 1, sizeof(*study->both));
	if (!study->both)
		return false;
	for (size_t i = 0; i < study->workload->count; i++)
		count_life(study, &study->workload->lives[i]);
	return true;
}

double study_likeness(const struct study *study, size_t one, size_t other)
{
	uint64_t both = study->both[one * study->count + other];
	uint64_t any = study->subjects[one].pblocks + study->subjects[other].pblocks - both;

	return any ? (double)both / (double)any : 0;
}
