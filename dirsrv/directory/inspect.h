/* SPDX-License-Identifier: MIT */
/* Running slabinfo on this process. */
#ifndef DIRECTORY_INSPECT_H
#define DIRECTORY_INSPECT_H

#include "args.h"

#include <stdbool.h>

/*
 * inspect_self: run slabinfo on this process and let it say what it has to say, its
 * table when `option` is NULL. False, and one line, when there is none or it fails.
 */
bool inspect_self(const struct args *args, const char *option, const char *cache);

#endif /* DIRECTORY_INSPECT_H */
