/* SPDX-License-Identifier: MIT */
/* One side in a process of its own, which sends its struct result through a pipe. */
#include "inspect.h"
#include "preload.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The command line of a child; the texts must live until it is used. */
struct command {
	char *argv[20];
	char path[4096];
	char entries[24];
	char threads[24];
	char seconds[32];
	char child[24];
};

static void command_make(struct command *command, const struct args *args, const struct run *run,
			 int fd)
{
	char **at = command->argv;

	snprintf(command->entries, sizeof(command->entries), "%llu",
		 (unsigned long long)args->entries);
	snprintf(command->threads, sizeof(command->threads), "%u", args->threads);
	snprintf(command->seconds, sizeof(command->seconds), "%.3f", run->seconds);
	snprintf(command->child, sizeof(command->child), "%d", fd);
	*at++ = run->on_malloc ? "directory-malloc" : "directory";
	*at++ = "--once";
	*at++ = "--entries";
	*at++ = command->entries;
	*at++ = "--threads";
	*at++ = command->threads;
	*at++ = "--seconds";
	*at++ = command->seconds;
	*at++ = "--child";
	*at++ = command->child;
	if (args->ldif) {
		*at++ = "--ldif";
		*at++ = (char *)args->ldif;
	}
	if (args->slabinfo || !run->show_slabinfo) {
		*at++ = "--slabinfo";
		*at++ = run->show_slabinfo ? (char *)args->slabinfo : "off";
	}
	*at = NULL;
}

static int read_result(int fd, struct result *result)
{
	char *to = (char *)result;
	size_t used = 0;

	while (used < sizeof(*result)) {
		ssize_t got = read(fd, to + used, sizeof(*result) - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		used += (size_t)got;
	}
	return result->struct_size == sizeof(*result) ? 0 : -1;
}

/* One side, one round. 0, or -1 after saying what went wrong. */
static int run_side(struct command *command, char **environment, struct result *result, int fds[2])
{
	int error, got, status;
	pid_t pid;

	if (beside_program(command->argv[0], command->path, sizeof(command->path)))
		return -1;
	fflush(stdout);
	error = posix_spawn(&pid, command->path, NULL, NULL, command->argv, environment);
	close(fds[1]);
	if (error) {
		fprintf(stderr, "directory: cannot run %s: %s\n", command->path, strerror(error));
		return -1;
	}
	got = read_result(fds[0], result);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && got == 0)
		return 0;
	fprintf(stderr, "directory: %s ended with %s %d\n", command->argv[0],
		WIFSIGNALED(status) ? "signal" : "status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return -1;
}

int run_round(const struct args *args, const struct run *run, struct result *result)
{
	char **environment = run->preload ? preload_environment(run->preload) : environ;
	struct command command;
	int fds[2], status;

	if (!environment) {
		fprintf(stderr, "directory: no memory for an environment\n");
		return -1;
	}
	if (pipe(fds)) {
		fprintf(stderr, "directory: no pipe: %s\n", strerror(errno));
		if (run->preload)
			preload_free(environment);
		return -1;
	}
	command_make(&command, args, run, fds[1]);
	status = run_side(&command, environment, result, fds);
	close(fds[0]);
	if (run->preload)
		preload_free(environment);
	return status;
}
