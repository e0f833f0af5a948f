/* SPDX-License-Identifier: MIT */
/* The command line of slab-exporter as one structure. */
#pragma once

#include "posix.h"

/* The most names of --process. */
#define SETTINGS_NAMES 64

struct settings {
	char address[256]; /* of --listen, without brackets */
	char port[8];
	size_t max_caches;    /* of a process, by name */
	size_t max_processes; /* by name */
	const char *names[SETTINGS_NAMES + 1]; /* of --process, ending in NULL */
	unsigned timeout_ms; /* of a scrape */
};

/*
 * settings_parse: fill *settings. Returns -1 to continue, or the exit status (after --help,
 * --version, or a usage error that was reported on stderr).
 */
int settings_parse(struct settings *settings, int argc, char **argv);
