/* SPDX-License-Identifier: MIT */
/* The command line. */
#ifndef DIRECTORY_ARGS_H
#define DIRECTORY_ARGS_H

#include "source.h"

#include <stdint.h>

#define THREADS_MAX 64

struct args {
	const char *ldif; /* NULL: the package catalogue */
	enum bad_lines bad_lines;
	uint64_t entries; /* the directory is multiplied to this many */
	double seconds;   /* of load on each side */
	unsigned threads; /* workers, and as many listeners */
	const char *slabinfo; /* NULL: beside this program; "off": do not run it */
	const char *allocators; /* the folder of their libraries; NULL: the usual ones */
	bool malloc_side;
	bool once;
	bool hunt; /* with debug flags switched on, and a bug */
	bool read_before; /* the source: its bad lines have been reported */
	int child; /* where the comparison wants the result, or -1 */
};

/* args_parse: returns -1 to go on, otherwise the exit status: 0 after --help,
 * 2 after saying in one sentence what is wrong. */
int args_parse(struct args *args, int argc, char **argv);

#endif /* DIRECTORY_ARGS_H */
