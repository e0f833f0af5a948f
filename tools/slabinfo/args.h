/* SPDX-License-Identifier: MIT */
/* The command line as one structure. */
#ifndef SLABINFO_ARGS_H
#define SLABINFO_ARGS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Exit statuses, as documented in docs/slabinfo.md. */
enum exit_status {
	EXIT_DONE = 0,
	EXIT_NOTHING = 1, /* no cache matched, or a validation found damage */
	EXIT_USAGE = 2,   /* bad usage, or no such process */
};

enum view {
	VIEW_DEFAULT, /* the table, or the report when a pattern matches one cache */
	VIEW_TABLE,
	VIEW_TOTALS,
	VIEW_REPORT,
	VIEW_SHRINK,
	VIEW_VALIDATE,
	VIEW_DEBUG,
	VIEW_SAMPLE,
	VIEW_FAIL,
	VIEW_TRACKING,
	VIEW_MARK,
	VIEW_SINCE_MARK,
	VIEW_JSON,
	VIEW_PROCESSES,
};

/* All that -d can ask for, and "-". */
#define LETTERS_TEXT sizeof("FZPUTA")

struct options {
	enum view view;
	bool json;           /* VIEW_JSON, or one of the two that have it */
	bool zero;           /* show empty caches too */
	bool empty;          /* show empty caches only */
	size_t lines;        /* how many rows or call sites, 0: not given */
	char letters[LETTERS_TEXT]; /* of -d, "-": off */
	long sample;         /* N of --sample */
	const char *fail;    /* SPEC of --fail */
	uint64_t mark;       /* of --since-mark, 0: the last one */
	pid_t pid;           /* 0: not given */
	const char *process; /* name of the process, NULL: not given */
	const char *pattern; /* NULL: all caches */
	regex_t regex;       /* compiled from the pattern */
};

/*
 * args_parse: fill *options. Returns -1 to go on, or the exit status of a run
 * that is over (--help, --version, or a usage error that was told on stderr).
 */
int args_parse(struct options *options, int argc, char **argv);

/* args_matches: whether the cache's name or an alias is meant by the pattern. */
bool args_matches(const struct options *options, const char *name);

/* fail: "slabinfo: " and one sentence on stderr. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* SLABINFO_ARGS_H */
