/* SPDX-License-Identifier: MIT */
/* slabinfo is run from outside, as an operator runs it: nothing here knows how
 * it gets at its numbers. */
#include "inspect.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 5000

extern char **environ;

static int beside_program(const char *name, char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size);
	size_t used = length > 0 ? (size_t)length : 0;

	while (used && path[used - 1] != '/')
		used--;
	if (!used || used + strlen(name) >= size)
		return -1;
	memcpy(path + used, name, strlen(name) + 1);
	return 0;
}

/* Wait for a process; after a while, end it. The status as of waitpid(). */
static int wait_patiently(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int status;

	for (int ms = 0; ms < PATIENCE_MS; ms += 10) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		nanosleep(&pause, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return status;
}

/* Where slabinfo is; false: it is not to be run, or that was said. */
static bool find_slabinfo(const struct args *args, char *path, size_t size)
{
	if (args->slabinfo && strcmp(args->slabinfo, "off") == 0)
		return false;
	if (args->slabinfo)
		snprintf(path, size, "%s", args->slabinfo);
	else if (beside_program("slabinfo", path, size))
		return false;
	if (access(path, X_OK) == 0)
		return true;
	printf("(slabinfo is not shown: %s: %s)\n", path, strerror(errno));
	return false;
}

bool inspect_self(const struct args *args, const char *option, const char *cache)
{
	char path[4096], pid_text[24];
	char *argv[] = {"slabinfo", "--pid", pid_text, (char *)option, (char *)cache, NULL};
	int error, status;
	pid_t pid;

	if (!find_slabinfo(args, path, sizeof(path)))
		return false;
	snprintf(pid_text, sizeof(pid_text), "%d", (int)getpid());
	printf("\n$ slabinfo --pid %s%s%s%s%s\n", pid_text, option ? " " : "", option ? option : "",
	       cache ? " " : "", cache ? cache : "");
	fflush(stdout);
	error = posix_spawn(&pid, path, NULL, NULL, argv, environ);
	if (error) {
		printf("(slabinfo is not shown: %s: %s)\n", path, strerror(error));
		return false;
	}
	status = wait_patiently(pid);
	if (WIFSIGNALED(status))
		printf("(slabinfo ended by signal %d)\n", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		printf("(slabinfo ended with status %d)\n", WEXITSTATUS(status));
	return status == 0;
}
