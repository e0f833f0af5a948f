/* SPDX-License-Identifier: MIT */
/*
 * Recordings: files of one line per sample, a JSON object each (docs/slabinfo.md has
 * its members). --record appends such lines, --plot reads them.
 */
#pragma once

#include "attach.h"
#include "model.h"

/* The start of every line, by which a recording is recognized. */
#define RECORDING_START "{\"slab_recording\":2,"

/* --- writing ------------------------------------------------------------------------ */

struct recording {
	const char *path;
	int fd;
};

/*
 * recording_open: open the file to append to it, or create it; "-" is standard output. It
 * refuses a file that is no recording, or that another process records to. It removes a
 * last line that was cut short, and reports that. Returns false after an error message by
 * fail().
 */
bool recording_open(struct recording *recording, const char *path);
void recording_close(struct recording *recording);

/*
 * recording_append: add a sample taken now. False after an error message by fail(); the file
 * is then unchanged.
 */
bool recording_append(struct recording *recording, const struct process *process,
		      const struct model *model, double interval);

/* --- reading ------------------------------------------------------------------------ */

/* The numbers of one cache in one sample. */
struct reading {
	size_t cache; /* index into names */
	uint64_t objects, bytes, used;
};

struct sample {
	uint64_t ms; /* since 1970 */
	uint64_t interval_ms;
	pid_t pid;
	size_t line; /* over all files, in the order of reading */
	struct reading *readings;
	size_t count;
};

struct samples {
	struct sample *samples;
	size_t count, capacity;
	char **names; /* of caches, each once */
	size_t names_count, names_capacity;
	char command[64]; /* of the last process */
};

/*
 * samples_read: read a recording and append its samples. False after an error message by
 * fail() with the line number. The function reports and ignores an incomplete last line.
 */
bool samples_read(struct samples *samples, const char *path);

/* samples_sort: by time. */
void samples_sort(struct samples *samples);
void samples_free(struct samples *samples);
