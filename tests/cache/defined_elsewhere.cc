/* SPDX-License-Identifier: MIT */
/* The other file with the definition of defined.h. */
#include "defined.h"

struct shared_type *defined_shared_elsewhere()
{
	return defined_shared_alloc();
}

void free_shared_elsewhere(struct shared_type *object)
{
	defined_shared_free(object);
}
