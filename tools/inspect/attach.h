/* SPDX-License-Identifier: MIT */
/*
 * Processes that export caches, and core files of such: finding one, and asking
 * it. However it is reached, the requests and the answers are those of the
 * control protocol (docs/control.md).
 */
#ifndef INSPECT_ATTACH_H
#define INSPECT_ATTACH_H

#include "fail.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct memory;

/* Which process is meant. All zero: the only one there is. */
struct choice {
	pid_t pid;        /* 0: not given */
	const char *name; /* of the process, NULL: not given */
	bool memory;      /* read its memory, even if it would answer */
	bool unseen; /* attach_find() also lists processes that only may use libslab: it reads
			     no memory, since a process can make that take for ever */
	bool acts; /* it is to be changed: its memory is no substitute for an answer */
	const char *core; /* a core file instead of a process, NULL: none */
	const char *exe; /* the program that left the core file, NULL: as the file says */
};

/* How a process is queried. */
enum way {
	WAY_SOCKET, /* it answers itself */
	WAY_MEMORY, /* its memory is read */
	WAY_CORE, /* its core file is read */
};

struct process {
	pid_t pid;
	char command[64];
	char path[PATH_MAX]; /* of its socket, or of the core file; empty: it has no socket */
	enum way way;
	bool acts; /* as in struct choice */
	struct memory *memory; /* once it is open (memory.h), else NULL */
	bool unseen; /* it may have no caches; see struct choice */
};

struct process_list {
	struct process *processes;
	size_t count;
};

/*
 * attach_choose: the process that is meant, or the only one there is. Returns -1
 * with *process filled, to be closed, or the exit status after reporting with fail()
 * why there is none. A process that has no socket or is stopped is read from its
 * memory; the latter is reported with fail(). When none is named and none has a
 * socket, the only one that is found by its memory is meant.
 */
int attach_choose(const struct choice *choice, struct process *process);
void attach_close(struct process *process);

/*
 * attach_find: the processes that have a socket, ordered by pid; where a name is
 * given or memory is to be read, those that use libslab without one, too. To be
 * freed, which closes them.
 */
void attach_find(struct process_list *list, const struct choice *choice);
void attach_free(struct process_list *list);

/* attach_list: print all that are found, with a socket or without; returns the
 * exit status. */
int attach_list(const struct choice *choice);

/*
 * attach_query: send "slab/2 REQUEST NAME" (name may be NULL), which have no
 * control characters in them, and return the answer when the process says ok; NULL after
 * reporting with fail() what was wrong.
 * The caller puts the answer with json_object_put(). Where memory is read, only
 * "ping", "stats", "slabs" and "traces" can be answered; others fail with a
 * message that says why. A process that is stopped or does not answer one of
 * these within two seconds is read from its memory from then on, which is reported.
 */
struct json_object *attach_query(struct process *process, const char *request, const char *name);

/* attach_report_silent: with fail(), that a process does not answer, and therefore is
 * read from memory; or false, where it is to be changed: that it cannot be. */
bool attach_report_silent(const struct process *process);

#endif /* INSPECT_ATTACH_H */
