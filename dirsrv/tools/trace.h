/* SPDX-License-Identifier: MIT */
/*
 * Traces: the calls that a program made with its pblocks, one per line. README.md has the format.
 * trace_read() accepts only traces that can be replayed any number of times: every pblock exists
 * when it is used, and is destroyed in the end.
 */
#pragma once

#include <slab/dirsrv/profile.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- parameters ----------------------------------------------------------------------------- */

/* The part of the struct of 712 bytes, or the separate struct, that a parameter belongs to. */
enum group {
	GROUP_top,
	GROUP_callback,
	GROUP_plugin,
	GROUP_op,
	GROUP_conn,
	GROUP_backend,
	GROUP_intop,
	GROUP_intplugin,
	GROUP_misc,
	GROUP_task,
	GROUP_mr,
	GROUP_dse,
	GROUP_deprecated,
	GROUPS
};

/* Type and ownership of a value. */
enum kind {
	KIND_POINTER,
	KIND_INT,
	KIND_WORD,
	KIND_PRESET,     /* an int whose default is not 0 */
	KIND_OWNED,      /* memory that the pblock frees */
	KIND_OWNED_COPY, /* the same, but a get returns a copy */
	KIND_TEXT,       /* a string that a set copies */
	KIND_TEXT_COPY,  /* the same, but a get returns a copy */
	KIND_ADDRESS,    /* a network address, stored by value */
};

struct parameter {
	uint32_t number;
	const char *name; /* with SLAPI_ */
	enum kind kind;
	enum group group;
	size_t size;   /* bytes of the value in a pblock */
	int preset;    /* the default of an int */
};

extern const struct parameter parameters[];
extern const size_t parameters_count;

/* group_name: "pb_op". */
const char *group_name(enum group group);

/* --- traces --------------------------------------------------------------------------------- */

#define PBLOCKS_MAX 1000000

enum verb { VERB_NEW, VERB_INIT, VERB_SET, VERB_GET, VERB_CLONE, VERB_DESTROY, VERBS };

struct call {
	enum verb verb;
	uint32_t line;
	uint32_t pblock, clone;            /* numbers */
	const struct parameter *parameter; /* of sets and gets */
};

struct trace {
	const char *path;
	uint64_t weight; /* how often it happens, compared with other traces */
	struct call *calls;
	size_t count, room;
	size_t verbs[VERBS]; /* the number of calls of each verb */
	uint32_t *alive; /* the line in which each pblock began; 0: it does not exist now */
	uint32_t pblocks; /* the highest number, plus 1 */
};

/* trace_read: false after an error message by fail(), which begins with FILE:LINE. The caller calls
 * trace_free() in both cases. */
bool trace_read(struct trace *trace, const char *path);
void trace_free(struct trace *trace);

/* --- main.c --------------------------------------------------------------------------------- */

/* A program; it has this one option beside --help and --version. */
struct tool {
	const char *name, *help, *option;
	int (*run)(char **paths, const char *value); /* NULL: without the option */
};
extern const struct tool tool;
