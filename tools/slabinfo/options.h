/* SPDX-License-Identifier: MIT */
/*
 * The command line as one structure; and the tables of options: their names, the view that each
 * selects, and the options that may be combined with that view. args.c parses with them.
 */
#pragma once

#include "attach.h"

#include <getopt.h>
#include <regex.h>

/* The action of a run; requesting two is an error. */
enum view {
	VIEW_DEFAULT, /* the table, or the report when a pattern matches one cache */
	VIEW_TABLE,
	VIEW_TOTALS,
	VIEW_EXTENDED_TOTALS,
	VIEW_NUMA,
	VIEW_REPORT,
	VIEW_SHRINK,
	VIEW_VALIDATE,
	VIEW_DEBUG,
	VIEW_SET,
	VIEW_RESET,
	VIEW_TRIM,
	VIEW_SAMPLE,
	VIEW_FAIL,
	VIEW_TRACKING,
	VIEW_MARK,
	VIEW_SINCE_MARK,
	VIEW_FIND_LEAKS,
	VIEW_JSON,
	VIEW_OPENMETRICS,
	VIEW_TOP,
	VIEW_MAP,
	VIEW_PROFILE,
	VIEW_PEAK,
	VIEW_LIFETIMES,
	VIEW_WASTE,
	VIEW_PPROF,
	VIEW_FLAME,
	VIEW_RECORD,
	VIEW_PLOT,      /* needs no process */
	VIEW_DIFF,      /* needs no process */
	VIEW_PROCESSES, /* needs no process */
};

/* What a table, a picture or a file has of each call site. */
enum heap_part {
	HEAP_NOW,     /* the heap profile: what is in use */
	HEAP_AT_PEAK, /* --profile=peak: what was in use at the peak */
	HEAP_WASTE,   /* --waste: free memory that its objects keep */
};

/* The order of the table's rows. */
enum order {
	ORDER_NAME,
	ORDER_SIZE,     /* -S: most memory first */
	ORDER_LOSS,     /* -L: most memory lost first */
	ORDER_PARTIAL,  /* -P: most partial slabs first */
	ORDER_ACTIVITY, /* -A: most active first */
};

/* All debug flags of -d, and "-". */
#define DEBUG_FLAGS_TEXT sizeof("FZPUTA")

struct options {
	enum view view;
	bool json;          /* VIEW_JSON, or one of the two that have it */
	enum order order;
	bool inverted; /* -i: the table's order the other way round */
	bool activity; /* -D and -A: the table's columns of activity */
	bool bytes; /* -B: sizes in bytes, not in K, M, G */
	bool unreclaimable; /* -U: only caches without SLAB_RECLAIM_ACCOUNT */
	bool zero; /* show empty caches too */
	bool empty; /* show empty caches only */
	size_t lines; /* number of rows or call sites, 0: not given */
	double stop_limit; /* seconds, of --find-leaks and -v; 0: not given */
	double interval; /* seconds, of --top and --record; 0: not given */
	char debug_flags[DEBUG_FLAGS_TEXT]; /* of -d, "-": off */
	long sample; /* N of --sample */
	const char *fail; /* SPEC of --fail */
	const char *profile; /* BYTES of --profile */
	enum heap_part part; /* of VIEW_PEAK, VIEW_WASTE, --pprof, --flame */
	const char *set; /* CACHE.ATTRIBUTE=VALUE of --set */
	uint64_t mark; /* of --since-mark, 0: the last one */
	const char *file; /* of --map, --record, --plot, --pprof, --flame */
	char **operands; /* VIEW_PLOT: recordings; VIEW_DIFF: two files; NULL at the end */
	const char *types; /* the file of --types, NULL: none */
	struct choice choice;
	const char *pattern; /* NULL: all caches */
	regex_t regex; /* compiled from the pattern */
};

/*
 * args_parse: fill *options. Returns -1 to continue, or the exit status (after --help,
 * --version, or a usage error that was reported on stderr).
 */
int args_parse(struct options *options, int argc, char **argv);

/* args_hint: "; …", a suggestion if a REGEXP looks like something else, such as an option;
 * otherwise "". */
#define HINT_WORD 32
#define HINT_TEXT (HINT_WORD + 80)
const char *args_hint(const struct options *options, const char *word, char text[HINT_TEXT]);

/* --- tables ----------------------------------------------------------------------------------- */

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
#define WITH_REGEXP 1u /* it takes a REGEXP that selects caches */
#define WITH_JSON 2u /* it has a form in JSON */
#define WITH_CORE 4u /* it works with a core file */
#define WITH_OPERANDS 8u /* its operands are files */
#define ACTS 16u /* the process itself must do it */

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
