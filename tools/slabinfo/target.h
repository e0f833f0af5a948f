/* SPDX-License-Identifier: MIT */
/* The operand of --find-leaks that names a process or a core file. */
#pragma once

#include "args.h"

/* target_take: with --find-leaks, if no option names a process: take a first operand that is a PID or
 * the name of a file. Returns the operands that are left. */
char **target_take(struct options *options, char **words);
