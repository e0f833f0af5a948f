/* SPDX-License-Identifier: MIT */
/* Names of types for caches that have a token alone. */
#pragma once

#include "attach.h"

/* types_begin: show caches with the names of their types. They come from DWARF when the first token
 * appears, and from the file `list`, if it is not NULL. false after an error message by fail(). */
bool types_begin(const char *list);
void types_end(void);

/* types_find: the name of a type of the process, for attach_name_types(); NULL: none is known. */
const char *types_find(struct process *process, uint64_t token, char text[64]);
