/* SPDX-License-Identifier: MIT */
/*
 * Starting slab-symbolize once, when libslab is loaded: a constructor may start processes, a
 * report may not. slab-symbolize leaves the process's family at once (--background), so the
 * program gets no SIGCHLD from it and never waits for an unknown child.
 *
 * The socket is a struct descriptor. If the program closes all descriptors, or slab-symbolize
 * has ended, reports are written with offsets, as without SLAB_SYMBOLS.
 */
#define _GNU_SOURCE
#include "report/filter.h"
#include "base/descriptors.h"
#include "report/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct descriptor filter = DESCRIPTOR_NONE;

/* Paths of slab-symbolize relative to the directory of the file that contains this code: beside
 * a static program, in a build tree, installed. */
static const char *const places[] = {
	"slab-symbolize",
	"../bin/slab-symbolize",
	SLAB_SYMBOLIZE_FROM_LIB,
};

/* Trust only files of root or the user that others cannot write. The program may lie in a
 * directory in which others can write, such as /tmp. */
static bool is_trusted(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && !(st.st_mode & S_IWOTH) &&
	       (st.st_uid == 0 || st.st_uid == geteuid());
}

static bool find_program(char path[PATH_MAX])
{
	const char *code = (const char *)(uintptr_t)find_program;
	char library[PATH_MAX];
	uint64_t offset;
	char *slash = NULL;

	if (symbol_locate(code + 1, library, sizeof(library), &offset))
		slash = strrchr(library, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		int folder = (int)(slash + 1 - library);

		if (snprintf(path, PATH_MAX, "%.*s%s", folder, library, places[i]) < PATH_MAX &&
		    is_trusted(path))
			return true;
	}
	return snprintf(path, PATH_MAX, "%s", SLAB_SYMBOLIZE_INSTALLED) < PATH_MAX &&
	       is_trusted(path);
}

/* Run slab-symbolize with an empty environment, so that it neither preloads libslab nor asks a
 * server for symbols. */
static int run(const char *path, int input)
{
	char name[] = "slab-symbolize", option[] = "--background";
	char *argv[] = {name, option, NULL}, *envp[] = {NULL};
	const char *log = secure_getenv("SLAB_LOG");
	posix_spawn_file_actions_t actions;
	int error;
	pid_t pid;

	error = posix_spawn_file_actions_init(&actions);
	if (error)
		return error;
	error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (!error && log && *log)
		error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log,
							 O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY,
							 0600);
	else if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (!error)
		error = posix_spawn(&pid, path, &actions, NULL, argv, envp);
	posix_spawn_file_actions_destroy(&actions);
	if (!error)
		waitpid(pid, NULL, 0);
	return error;
}

static int start(const char *path)
{
	int input, error = descriptor_stream(&filter, &input, DESCRIPTORS_FROM);

	if (error)
		return -error;
	error = run(path, input);
	close(input);
	if (error)
		descriptor_close(&filter);
	return error;
}

/* This reads only SLAB_SYMBOLS. slab_options() would read the whole environment, too early for a
 * program that sets some of libslab's variables itself. */
__attribute__((constructor)) static void start_filter(void)
{
	const char *symbols = secure_getenv("SLAB_SYMBOLS");
	int saved_errno = errno, error;
	char path[PATH_MAX];

	if (!symbols || strcmp(symbols, "on") != 0)
		return;
	error = find_program(path) ? start(path) : ENOENT;
	if (error)
		dprintf(STDERR_FILENO,
			"libslab: SLAB_SYMBOLS=on: slab-symbolize cannot be run: %s\n",
			strerror(error));
	errno = saved_errno;
}

bool filter_write(const char *text, size_t len)
{
	return descriptor_send(&filter, text, len);
}
