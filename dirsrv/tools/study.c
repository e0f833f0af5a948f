/* SPDX-License-Identifier: MIT */
/* The steps of a study: counting, clustering and cutting. */
#include "study.h"
#include "fail.h"

#include <stdlib.h>

bool study_make(struct study *study, const struct workload *workload)
{
	*study = (struct study){.workload = workload};
	if (study_count(study) && study_cluster(study) && study_cut(study))
		return true;
	fail("no memory for %zu parameters", study->count);
	return false;
}

void study_free(struct study *study)
{
	free(study->subjects);
	free(study->index);
	free(study->both);
	free(study->joins);
	free(study->order);
	free(study->clumps);
}
