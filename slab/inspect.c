/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <slab/inspect.h>

#include "slab_internal.h"

int slab_inspect(const struct slab_reader *reader, uint64_t root, const char *request,
		 struct slab_answer *answer)
{
	(void)reader;
	(void)root;
	(void)request;
	*answer = (struct slab_answer){.text = NULL};
	return -ENOMEM;
}

void slab_answer_free(struct slab_answer *answer)
{
	(void)answer;
}
