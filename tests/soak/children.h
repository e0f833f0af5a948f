/* SPDX-License-Identifier: MIT */
/* Children of the busy process. */
#pragma once

#include "worker.h"

namespace soak
{

/* Fork: the child checks and frees the objects of `seat`, which the calling thread has, uses every
 * kind, validates caches, and ends. An error in it is an error here. */
void fork_child(struct worker *seat);

/* vfork: the child allocates and frees if the engine lets it, and ends. */
void vfork_child();

} /* namespace soak */
