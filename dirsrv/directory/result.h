/* SPDX-License-Identifier: MIT */
/* What a run measured, and what the user sees of it. */
#pragma once

#include "server.h"

/* The directory as a whole; bytes of objects and of their text. */
struct directory_size {
	uint64_t entries;
	uint64_t attributes;
	uint64_t values;
	uint64_t bytes;
};

struct result {
	struct directory_size loaded;
	struct directory_size end;
	double load_seconds;
	double seconds;     /* of load */
	double cpu_seconds; /* of all threads together */
	uint64_t done[KIND_COUNT];
	uint64_t returned; /* entries copied for searches */
	uint64_t pblocks;  /* of all operations … */
	uint64_t pblock_bytes; /* … and their bytes, with all their parts */
	uint64_t resident_loaded;
	uint64_t resident_end;
};

/* result_operations: of all kinds together. */
uint64_t result_operations(const struct result *result);

/* result_resident: bytes of anonymous memory that this process has resident. */
uint64_t result_resident(void);

/* screen_loaded: what was loaded, from where. */
void screen_loaded(const struct result *result, const char *path, uint64_t read, size_t bad);

/* screen_progress: which part of the load is over, and operations per second so far. */
void screen_progress(double part, double rate);

/* screen_result: the numbers of one side. */
void screen_result(const char *name, const struct result *result);
