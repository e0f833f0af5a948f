/* SPDX-License-Identifier: MIT */
/* The environment variables of libslab-389ds.so. README.md describes them. */
#ifndef PRELOAD_OPTIONS_H
#define PRELOAD_OPTIONS_H

#include <stdbool.h>

#define MOST_CACHES 1024u

struct options {
	bool is_read;
	bool is_automatic;   /* SLAB_389DS_NAMES=all */
	unsigned caches;     /* SLAB_389DS_CACHES */
	const char *summary; /* SLAB_389DS_SUMMARY, or NULL */
};

extern struct options options;

/* Read the environment, unless that was done. */
void options_read(void);

#endif /* PRELOAD_OPTIONS_H */
