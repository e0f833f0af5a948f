/* SPDX-License-Identifier: MIT */
/*
 * Finding and querying a process that has slab caches, or its core file. Requests and answers are
 * those of the control protocol (docs/control.md), whether the socket answers or the memory is
 * read.
 */
#pragma once

#include "fail.h"
#include "proc.h"

#include <json-c/json.h>

struct memory;
struct aliases;

/* Which process to choose. All zero: the only one that has slab caches. */
struct choice {
	pid_t pid;        /* 0: not given */
	const char *name; /* of the process, NULL: not given */
	bool memory;      /* read its memory, even if it would answer */
	bool unseen; /* attach_find() also lists processes that possibly use libslab: it does
			     not search their memory, which a process can make endless */
	bool acts; /* a request changes the process, so its memory cannot answer instead */
	const char *core; /* a core file instead of a process, NULL: none */
	const char *exe; /* the program of the core file, NULL: the one that the file names */
	unsigned copy;   /* of libslab in the process, from 1 on; 0: the first */
};

/* How a process is queried. */
enum way {
	WAY_SOCKET, /* its memory is read, and its control socket serves requests that act */
	WAY_MEMORY, /* its memory is read */
	WAY_CORE, /* its core file is read */
};

struct process {
	pid_t pid;
	char command[64];
	char path[PATH_MAX]; /* of the socket or the core file; empty: no socket */
	enum way way;
	bool acts; /* as in struct choice */
	unsigned copy;
	struct memory *memory; /* once it is open (memory.h), else NULL */
	bool unseen; /* it may have no caches; see struct choice */
	struct proc_identity identity; /* when it was found */
	struct aliases *aliases; /* NULL: none (aliases.h) */
};

struct process_list {
	struct process *processes;
	size_t count;
};

/*
 * attach_choose: the chosen process, or the only one that has slab caches. Returns -1
 * with *process filled, which the caller closes; or the exit status, after fail() reported
 * why there is none, or that a process that is to be changed is stopped. If the caller chose none
 * and no process has a socket, the function searches the memory of processes, and returns the only
 * one that it finds.
 */
int attach_choose(const struct choice *choice, struct process *process);
void attach_close(struct process *process);

/*
 * attach_find: the processes that have a socket, ordered by pid, also in containers. If the choice
 * has a name or requests memory, the list includes those that use libslab without a socket. Freeing
 * the list closes them.
 */
void attach_find(struct process_list *list, const struct choice *choice);
void attach_free(struct process_list *list);

/* attach_list: print all processes found, with a socket or without; returns the exit
 * status. */
int attach_list(const struct choice *choice);

/*
 * attach_query: "REQUEST NAME" (name may be NULL) without control characters. Returns the answer if
 * it is ok; NULL after an error message by fail(). The caller puts the answer with
 * json_object_put(). Requests that only read ("stats", "slabs", "traces", "objects", "regions",
 * "waste", "profile") are answered from memory, others by the process.
 */
struct json_object *attach_query(struct process *process, const char *request, const char *name);

/* attach_name_types: show caches of types without a name with what this function writes to `text`
 * and returns; NULL: no name is known (aliases.h). */
typedef const char *type_namer(struct process *process, uint64_t token, char text[64]);
void attach_name_types(type_namer *function);

/* attach_stand_still: let all further queries see the process as it is at one moment: stop it, copy
 * its memory, and let it go on (memory.h). A core file is such a moment already. false after an
 * error message by fail(). */
struct snapshot;
bool attach_stand_still(struct process *process, struct snapshot *snapshot);
