/* SPDX-License-Identifier: MIT */
/* Running other programs: slabinfo on ourselves, and the sides of the comparison. */
#ifndef DIRECTORY_INSPECT_H
#define DIRECTORY_INSPECT_H

#include "args.h"
#include "result.h"

#include <stdbool.h>
#include <stddef.h>

/* beside_program: the path of a program in this one's directory; -1: too long. */
int beside_program(const char *name, char *path, size_t size);

/*
 * inspect_self: run slabinfo on this process and let it say what it has to say, its
 * table when `option` is NULL. False, and one line, when there is none or it fails.
 */
bool inspect_self(const struct args *args, const char *option, const char *cache);

/*
 * compare_sides: both sides in fresh processes, in turn, until the seconds of
 * each are over; shows the comparison. The exit status.
 */
int compare_sides(const struct args *args);

/* malloc_program: become directory-malloc; returns only after saying why not. */
int malloc_program(char **argv);

#endif /* DIRECTORY_INSPECT_H */
