/* SPDX-License-Identifier: MIT */
/* Processes that export caches: finding one, and asking it. */
#ifndef SLABINFO_ATTACH_H
#define SLABINFO_ATTACH_H

#include "args.h"

#include <json-c/json.h>
#include <limits.h>

struct process {
	pid_t pid;
	char command[64];
	char path[PATH_MAX]; /* of its socket */
};

/*
 * attach_choose: the process that the options mean, or the only one there is.
 * Returns -1 with *process filled, or the exit status after telling on stderr
 * why there is none.
 */
int attach_choose(const struct options *options, struct process *process);

/* attach_list: print the processes that export caches; returns the exit status. */
int attach_list(const struct options *options);

/*
 * attach_ask: send "slab/1 REQUEST NAME" (name may be NULL) and return the
 * answer when the process says ok; NULL after telling on stderr what was wrong.
 * The caller puts the answer with json_object_put().
 */
struct json_object *attach_ask(const struct process *process, const char *request,
			       const char *name);

#endif /* SLABINFO_ATTACH_H */
