/* SPDX-License-Identifier: MIT */
/* Running other programs: slabinfo on ourselves, and the sides of the comparison. */
#ifndef DIRECTORY_INSPECT_H
#define DIRECTORY_INSPECT_H

#include "args.h"
#include "result.h"

#include <limits.h>
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
 * run_beside: run a program of this one's directory to its end, with its output in a file
 * unless that is NULL. False, and one line, when it fails.
 */
bool run_beside(char *const *argv, const char *output);

/* A round of a side. */
struct run {
	bool on_malloc;
	const char *preload; /* a library for LD_PRELOAD, before those it has; NULL: none */
	double seconds;
	bool show_slabinfo;
};

/* run_round: one side in a fresh process. 0, or -1 after saying what went wrong. */
int run_round(const struct args *args, const struct run *run, struct result *result);

/* A report of how the load uses pblocks: pblock-profile.svg and .txt in that folder. */
struct picture {
	bool made;
	char folder[PATH_MAX];
};

/* picture_make: record a round of at most a second, and have pblock-profile draw it.
 * -1: the round failed, which was said. */
int picture_make(struct picture *picture, const struct args *args);

#endif /* DIRECTORY_INSPECT_H */
