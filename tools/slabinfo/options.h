/* SPDX-License-Identifier: MIT */
/*
 * The options as tables: how they are spelt, which view each of them asks for, and
 * what may be combined with that view. args.c reads a command line by them.
 */
#ifndef SLABINFO_OPTIONS_H
#define SLABINFO_OPTIONS_H

#include "args.h"

#include <getopt.h>

/* Options without a letter. */
enum long_option {
	OPTION_PROCESS = 256,
	OPTION_LIST,
	OPTION_MEMORY,
	OPTION_CORE,
	OPTION_EXE,
	OPTION_JSON,
	OPTION_OPENMETRICS,
	OPTION_VERSION,
	OPTION_SET,
	OPTION_RESET,
	OPTION_TRIM,
	OPTION_SAMPLE,
	OPTION_FAIL,
	OPTION_MARK,
	OPTION_SINCE_MARK,
	OPTION_TOP,
	OPTION_MAP,
	OPTION_RECORD,
	OPTION_INTERVAL,
	OPTION_PLOT,
	OPTION_DIFF,
};

/* For getopt_long(). */
extern const char short_options[];
extern const struct option long_options[];

/* What --help prints. */
extern const char help_text[];

/* What may be combined with a view, and what it is. */
#define WITH_REGEXP 1u   /* it is about caches, which may be chosen */
#define WITH_JSON 2u     /* it has a form for programs */
#define WITH_CORE 4u     /* a core file has all that it needs */
#define WITH_OPERANDS 8u /* its operands are files */
#define ACTS 16u         /* the process itself has to do it */

struct view_option {
	int option; /* 0: no option alone asks for it */
	enum view view;
	const char *name;
	unsigned with;
};

/* view_of_option: the view that this option asks for, NULL: none. */
const struct view_option *view_of_option(int option);

/* view_rules: what goes with a view. */
const struct view_option *view_rules(enum view view);

#endif /* SLABINFO_OPTIONS_H */
