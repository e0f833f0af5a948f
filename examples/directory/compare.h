/* SPDX-License-Identifier: MIT */
/* The comparison: libslab and the allocators beside it. */
#ifndef DIRECTORY_COMPARE_H
#define DIRECTORY_COMPARE_H

#include "args.h"
#include "result.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define ROUNDS_MAX 2
#define SIDES_MAX 8

struct side {
	const char *name;
	bool on_malloc;
	const char *library;     /* takes the place of glibc's malloc(); NULL: none */
	char path[PATH_MAX];     /* of that library */
	const char *left_out;    /* why it is not compared; NULL: it is */
	struct result results[ROUNDS_MAX];
};

/*
 * compare_sides: every side in fresh processes, in turn, until the seconds of
 * each are over; shows the comparison. The exit status.
 */
int compare_sides(const struct args *args);

/* malloc_program: become directory-malloc; returns only after saying why not. */
int malloc_program(char **argv);

/* table_show: the sides side by side. The first is libslab; it and glibc, the second, are never
 * left out. */
void table_show(const struct side *sides, size_t count, size_t rounds);

#endif /* DIRECTORY_COMPARE_H */
