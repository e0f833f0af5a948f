/* SPDX-License-Identifier: MIT */
/* Names of types for caches that have a token alone. */
#pragma once

#include "args.h"

/* types_begin: take names from DWARF when the first token appears, and from the list of --types. false
 * after an error message by fail(). */
bool types_begin(const struct options *options);
void types_end(void);
