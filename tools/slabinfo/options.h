/* SPDX-License-Identifier: MIT */
/*
 * Tables of options: their names, the view that each selects, and the options that may be
 * combined with that view. args.c parses the command line with them.
 */
#pragma once

#include "args.h"

#include <getopt.h>

/* Options without a short form. */
enum long_option {
	OPTION_PROCESS = 256,
	OPTION_LIST,
	OPTION_MEMORY,
	OPTION_CORE,
	OPTION_EXE,
	OPTION_TYPES,
	OPTION_COPY,
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
	OPTION_PROFILE,
	OPTION_PPROF,
	OPTION_FLAME,
	OPTION_WASTE,
	OPTION_FIND_LEAKS,
	OPTION_STOP_LIMIT,
};

/* For getopt_long(). */
extern const char short_options[];
extern const struct option long_options[];

/* The text of --help. */
extern const char help_text[];

/* Properties of a view, and what it can be combined with. */
#define WITH_REGEXP 1u   /* it takes a REGEXP that selects caches */
#define WITH_JSON 2u     /* it has a form in JSON */
#define WITH_CORE 4u     /* it works with a core file */
#define WITH_OPERANDS 8u /* its operands are files */
#define ACTS 16u         /* the process itself must do it */

struct view_option {
	int option; /* 0: no single option selects it */
	enum view view;
	const char *name;
	unsigned with;
};

/* view_of_option: the view that this option selects; NULL: none. */
const struct view_option *view_of_option(int option);

/* view_rules: the rules of a view. */
const struct view_option *view_rules(enum view view);
