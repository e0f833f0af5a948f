/* SPDX-License-Identifier: MIT */
/* A definition that several files of a program have, by this header. */
#pragma once

#include <slab/define.h>

struct shared_type {
	long number[9];
};
SLAB_DEFINE_CACHE(defined_shared, struct shared_type);

/* defined_elsewhere.cc: the functions as they are there. */
struct shared_type *defined_shared_elsewhere();
void free_shared_elsewhere(struct shared_type *object);
