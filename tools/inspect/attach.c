/* SPDX-License-Identifier: MIT */
/*
 * Finding processes by the sockets they listen on, RUNTIME_DIR/slab/PID.sock,
 * and talking to them: one line out, one line back (docs/control.md).
 *
 * Where SLAB_RUNTIME_DIR is set, that directory counts alone, as it does for
 * the library. Otherwise a process may be in any of several places, depending
 * on who started it and how, and all that the user may read are searched.
 */
#include "attach.h"
#include "memory.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_SECONDS 30

/* Connecting and asking */

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_sec = ANSWER_SECONDS};
	int fd;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

/* All that comes until the process closes, as a string; NULL and errno. */
static char *read_answer(int fd)
{
	size_t capacity = 1 << 16, len = 0;
	char *text = malloc(capacity);
	ssize_t n = 0;

	while (text && (n = recv(fd, text + len, capacity - len - 1, 0)) > 0) {
		char *larger;

		len += (size_t)n;
		if (capacity - len > 1)
			continue;
		larger = realloc(text, capacity *= 2);
		if (!larger)
			free(text);
		text = larger;
	}
	if (text && n < 0 && len == 0) {
		free(text);
		return NULL;
	}
	if (text)
		text[len] = '\0';
	return text;
}

/* The answer's text, or NULL and errno. */
static char *exchange(const char *path, const char *request, const char *name)
{
	int fd = connect_to(path), error;
	char *answer = NULL;

	if (fd < 0)
		return NULL;
	if (dprintf(fd, "slab/1 %s%s%s\n", request, name ? " " : "", name ? name : "") > 0)
		answer = read_answer(fd);
	error = errno;
	close(fd);
	errno = error;
	return answer;
}

struct json_object *attach_ask(struct process *process, const char *request, const char *name)
{
	char *text = exchange(process->path, request, name);
	struct json_object *answer, *member;

	if (!text) {
		fail("process %d (%s) does not answer: %s", process->pid, process->command,
		     errno == EAGAIN ? "it took too long" : strerror(errno));
		return NULL;
	}
	answer = json_tokener_parse(text);
	free(text);
	if (json_object_object_get_ex(answer, "ok", &member) && json_object_get_boolean(member))
		return answer;
	if (json_object_object_get_ex(answer, "error", &member))
		fail("process %d (%s): %s", process->pid, process->command,
		     json_object_get_string(member));
	else
		fail("process %d (%s) did not give an answer that is understood here", process->pid,
		     process->command);
	json_object_put(answer);
	return NULL;
}

/* Finding */

/* The first line of /proc/PID/NAME; empty when it cannot be read. */
static void read_proc(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = fopen(path, "re");
	text[0] = '\0';
	if (!file)
		return;
	if (fgets(text, (int)size, file))
		text[strcspn(text, "\n")] = '\0';
	fclose(file);
	for (char *at = text; *at; at++) {
		if (iscntrl((unsigned char)*at))
			*at = '?';
	}
}

/* NAME is what ps shows, or the last part of argv[0], which is not cut short. */
static bool has_name(const struct process *process, const char *name)
{
	char argv0[PATH_MAX];
	const char *slash;

	if (strcmp(process->command, name) == 0)
		return true;
	read_proc(process->pid, "cmdline", argv0, sizeof(argv0));
	slash = strrchr(argv0, '/');
	return strcmp(slash ? slash + 1 : argv0, name) == 0;
}

/* The pid in a path .../PID.sock, 0 when it is none. */
static pid_t pid_of(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	char *end;
	long pid = strtol(name, &end, 10);

	if (*name < '1' || *name > '9' || strcmp(end, ".sock") != 0 || pid > INT_MAX)
		return 0;
	return (pid_t)pid;
}

/* Somebody listens; a dead process, or one that called exec(), does not. */
static bool is_alive(const char *path)
{
	int fd = connect_to(path);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool is_known(const struct process_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->processes[i].pid == pid)
			return true;
	}
	return false;
}

static void add_process(struct process_list *list, const struct choice *choice, const char *path)
{
	struct process *larger, *process;
	pid_t pid = pid_of(path);

	if (!pid || (choice->pid && pid != choice->pid) || is_known(list, pid) || !is_alive(path))
		return;
	larger = realloc(list->processes, (list->count + 1) * sizeof(*process));
	if (!larger)
		return;
	list->processes = larger;
	process = &larger[list->count];
	memset(process, 0, sizeof(*process));
	process->pid = pid;
	snprintf(process->path, sizeof(process->path), "%s", path);
	read_proc(pid, "comm", process->command, sizeof(process->command));
	if (!choice->name || has_name(process, choice->name))
		list->count++;
}

/* Every socket in `dir`/slab, where dir may be a pattern. */
static void search(struct process_list *list, const struct choice *choice, const char *dir)
{
	char pattern[PATH_MAX];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/slab/*.sock", dir);
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			add_process(list, choice, found.gl_pathv[i]);
	}
	globfree(&found);
}

static void search_all(struct process_list *list, const struct choice *choice)
{
	const char *given = getenv("SLAB_RUNTIME_DIR");
	const char *session = getenv("XDG_RUNTIME_DIR");
	char own[32];

	if (given && *given) {
		search(list, choice, given);
		return;
	}
	if (session && *session)
		search(list, choice, session);
	search(list, choice, "/run");
	if (geteuid() == 0) {
		search(list, choice, "/run/user/*");
		search(list, choice, "/tmp/slab-*");
	} else {
		snprintf(own, sizeof(own), "/tmp/slab-%u", (unsigned)geteuid());
		search(list, choice, own);
	}
}

void attach_find(struct process_list *list, const struct choice *choice)
{
	*list = (struct process_list){NULL, 0};
	search_all(list, choice);
}

void attach_free(struct process_list *list)
{
	free(list->processes);
	*list = (struct process_list){NULL, 0};
}

/* Choosing */

/* Tells why nothing was found. */
static void fail_none(const struct choice *choice)
{
	if (choice->pid && kill(choice->pid, 0) != 0 && errno == ESRCH)
		fail("there is no process %d", choice->pid);
	else if (choice->pid)
		fail("process %d exports no caches: it does not use libslab, has created no cache "
		     "yet, runs with SLAB_CONTROL=off, or belongs to another user",
		     choice->pid);
	else if (choice->name)
		fail("no process called \"%s\" exports caches; --list shows those that do",
		     choice->name);
	else
		fail("no process exports caches");
}

static void print_processes(FILE *out, const struct process_list *list)
{
	fprintf(out, "%10s  %s\n", "PID", "COMMAND");
	for (size_t i = 0; i < list->count; i++)
		fprintf(out, "%10d  %s\n", list->processes[i].pid, list->processes[i].command);
}

int attach_choose(const struct choice *choice, struct process *process)
{
	struct process_list list;
	int status = -1;

	attach_find(&list, choice);
	if (list.count == 1) {
		*process = list.processes[0];
	} else if (list.count == 0) {
		fail_none(choice);
		status = EXIT_USAGE;
	} else {
		fail("several processes export caches; choose one with --pid");
		print_processes(stderr, &list);
		status = EXIT_USAGE;
	}
	attach_free(&list);
	return status;
}

void attach_close(struct process *process)
{
	memory_close(process->memory);
	process->memory = NULL;
}

int attach_list(const struct choice *choice)
{
	struct process_list list;
	int status = EXIT_DONE;

	attach_find(&list, choice);
	if (list.count > 0) {
		print_processes(stdout, &list);
	} else {
		fail_none(choice);
		status = EXIT_USAGE;
	}
	attach_free(&list);
	return status;
}
