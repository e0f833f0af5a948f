/* SPDX-License-Identifier: MIT */
/* Differences between two files that --json wrote. */
#pragma once

#include "options.h"
#include "model.h"

/* One of the two files. */
struct diff_file {
	const char *file; /* its name in messages */
	struct model model;
	uint64_t pid;
	const char *command;
	uint64_t uptime; /* seconds */
	uint64_t now;    /* milliseconds of a clock of the machine, 0: not known */
};

/* A cache in one or both of the files; NULL: not in that file. */
struct change {
	const char *name;
	const struct cache *before, *after;
};

/* A number in both files. */
struct growth {
	uint64_t before, after;
};

struct diff {
	struct diff_file before, after;
	struct change *changes;
	size_t count;
	size_t caches; /* in both files, including unchanged ones */
	struct growth objects, bytes; /* of these */
};

/*
 * diff_read: read a file that --json wrote; "-" is standard input. False after an error
 * message by fail(); the caller frees it in any case.
 */
bool diff_read(struct diff_file *snapshot, const char *path);
void diff_file_free(struct diff_file *snapshot);

/* diff_is_one_process: whether both files are of the same process. */
bool diff_is_one_process(const struct diff *diff);

/* growth_of: after - before, limited to the range of the type. */
int64_t growth_of(const struct growth *growth);

struct growth change_objects(const struct change *change);
struct growth change_bytes(const struct change *change);

bool change_is_same(const struct change *change);
/* change_name: "new", "gone", "changed" or "same". */
const char *change_name(const struct change *change);

/* The changes for people, and for programs. */
void diff_print(const struct options *options, const struct diff *diff);
void diff_print_json(const struct diff *diff);
