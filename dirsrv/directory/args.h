/* SPDX-License-Identifier: MIT */
/* The command line. */
#ifndef DIRECTORY_ARGS_H
#define DIRECTORY_ARGS_H

#include "source.h"

#include <stdint.h>

#define THREADS_MAX 64

struct args {
	const char *ldif; /* NULL: the package catalogue */
	uint64_t entries; /* the directory is multiplied to this many */
	double seconds;   /* of load */
	unsigned threads; /* workers, and as many listeners */
};

/* args_parse: returns -1 to go on, otherwise the exit status: 0 after --help,
 * 2 after saying in one sentence what is wrong. */
int args_parse(struct args *args, int argc, char **argv);

#endif /* DIRECTORY_ARGS_H */
