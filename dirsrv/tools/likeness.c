/* SPDX-License-Identifier: MIT */
/* Queries of a study about one parameter or a pair of parameters. */
#include "study.h"

size_t study_find(const struct study *study, uint32_t number)
{
	size_t low = 0, high = study->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (study->subjects[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < study->count && study->subjects[low].number == number ? low : study->count;
}

size_t size_of_subject(const struct subject *subject)
{
	if (subject->sets == 0)
		return 0;
	return subject->parameter ? subject->parameter->size : sizeof(void *);
}

double study_likeness(const struct study *study, size_t one, size_t other)
{
	uint64_t both = study->both[one * study->count + other];
	uint64_t any = study->subjects[one].pblocks + study->subjects[other].pblocks - both;

	return any ? (double)both / (double)any : 0;
}
