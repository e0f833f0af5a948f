/* SPDX-License-Identifier: MIT */
/*
 * Caches of types that have no name in the process: token-D5D5177A51D2519E. The tool shows them
 * with the names of their types, and the process hears its own names.
 */
#pragma once

#include "attach.h"

struct aliases;

/* In an answer: exchange the names of such caches for those of their types. */
void aliases_show(struct process *process, struct json_object *answer);
/* In a request: what the process calls a cache that was shown with this name. */
const char *aliases_real(const struct process *process, const char *name);
void aliases_free(struct process *process);
