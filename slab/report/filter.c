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
#include "base/note.h"
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

/* The file that contains this code, and why the last slab-symbolize that was found is not used.
 * Only the constructor uses these; they are too large for the stack of a thread that loads
 * libslab. */
static char library[PATH_MAX], refused[PATH_MAX];
static const char *refusal;

static bool refuse(const char *path, const char *why)
{
	snprintf(refused, sizeof(refused), "%s", path);
	refusal = why;
	return false;
}

/* Can only root or the user change this file, or this folder's entries for such a file? In a folder
 * with the sticky bit, others cannot replace it. */
static bool is_safe(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return refuse(path, strerror(errno));
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return refuse(path, "it belongs to another user");
	if (st.st_mode & (S_IWGRP | S_IWOTH) && !(S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX))
		return refuse(path, "its group or others may write it");
	return true;
}

/* The path without symbolic links. realpath() may call malloc. false: there is no such file. */
static bool resolve(char path[PATH_MAX])
{
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
	int fd = open(path, O_PATH | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, PATH_MAX - 1);
	close(fd);
	path[len > 0 ? len : 0] = '\0';
	return len > 0 && path[0] == '/';
}

/* The program may lie in a directory in which others can write, such as /tmp. */
static bool is_trusted(char path[PATH_MAX])
{
	if (!resolve(path) || !is_safe(path) || !is_safe("/"))
		return false;
	for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
		bool safe;

		*slash = '\0';
		safe = is_safe(path);
		*slash = '/';
		if (!safe)
			return false;
	}
	refusal = NULL;
	return true;
}

/* `place` may begin with "../". An empty folder is none. */
static bool try_place(char path[PATH_MAX], const char *folder, size_t len, const char *place)
{
	return len && *folder == '/' &&
	       snprintf(path, PATH_MAX, "%.*s/%s", (int)len, folder, place) < PATH_MAX &&
	       is_trusted(path);
}

static bool find_beside(char path[PATH_MAX])
{
	const char *code = (const char *)(uintptr_t)find_beside, *slash;
	uint64_t offset;

	if (!symbol_locate(code + 1, library, sizeof(library), &offset))
		return false;
	slash = strrchr(library, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++)
		if (try_place(path, library, (size_t)(slash - library), places[i]))
			return true;
	return false;
}

static bool find_in_path(char path[PATH_MAX])
{
	const char *folder = secure_getenv("PATH");
	size_t len;

	for (; folder && *folder; folder += len + (folder[len] == ':')) {
		len = strcspn(folder, ":");
		if (try_place(path, folder, len, "slab-symbolize"))
			return true;
	}
	return false;
}

static bool find_program(char path[PATH_MAX])
{
	static const char installed[] = SLAB_SYMBOLIZE_INSTALLED;

	return find_beside(path) ||
	       try_place(path, installed, sizeof(installed) - sizeof("/slab-symbolize"),
			 "slab-symbolize") ||
	       find_in_path(path);
}

/* Run slab-symbolize with an empty environment, so that it neither preloads libslab nor asks a
 * server for symbols. The program waits for it, so opening the log must not (report.c). */
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
		error = posix_spawn_file_actions_addopen(
			&actions, STDOUT_FILENO, log,
			O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK, 0600);
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

static void complain_of_none(void)
{
	if (refusal)
		slab_note("SLAB_SYMBOLS=on: slab-symbolize is not used, because of %s: %s", refused,
			  refusal);
	else
		slab_note("SLAB_SYMBOLS=on: there is no slab-symbolize: not beside %s, not at %s "
			  "or %s from there, not at %s, not in PATH",
			  library, places[1], places[2], SLAB_SYMBOLIZE_INSTALLED);
}

/* This reads only SLAB_SYMBOLS. slab_options() would read the whole environment, too early for a
 * program that sets some of libslab's variables itself. */
__attribute__((constructor)) static void start_filter(void)
{
	const char *symbols = secure_getenv("SLAB_SYMBOLS");
	int saved_errno = errno, error;
	static char path[PATH_MAX];

	if (!symbols || strcmp(symbols, "on") != 0)
		return;
	if (!find_program(path)) {
		complain_of_none();
	} else {
		error = start(path);
		if (error)
			slab_note("SLAB_SYMBOLS=on: %s cannot be run, or the file of SLAB_LOG not "
				  "be opened: %s",
				  path, strerror(error));
	}
	errno = saved_errno;
}

bool filter_write(const char *text, size_t len)
{
	return descriptor_send(&filter, text, len);
}
