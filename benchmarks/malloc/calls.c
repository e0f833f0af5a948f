/* SPDX-License-Identifier: MIT */
/*
 * malloc-calls PROGRAM ARGUMENT...: run it, and print "calls N" for the system calls that all its
 * threads made between its two marks. The program's output is dropped, and so is its input.
 *
 * The library to preload is in BENCH_PRELOAD, so that this program does without it.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "mark.h"

#define OPTIONS                                                                                    \
	((void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |               \
		  PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL))
#define SYSCALL_STOP (SIGTRAP | 0x80)

static unsigned marks;
static unsigned long calls;

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "malloc-calls: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static _Noreturn void child(char **argv)
{
	const char *preload = getenv("BENCH_PRELOAD");
	int null = open("/dev/null", O_RDWR);

	if (preload && *preload)
		setenv("LD_PRELOAD", preload, 1);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		fail("/dev/null");
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	execv(argv[0], argv);
	fail(argv[0]);
}

static void entered(pid_t thread)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *)sizeof(info), &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	if (info.entry.nr == MARK_CALL)
		marks++;
	else if (marks == 1)
		calls++;
}

/* What the thread gets when it goes on: its signal, unless the stop is ours. */
static int signal_of(int status)
{
	int sig = WSTOPSIG(status);

	if (sig == SYSCALL_STOP || status >> 16 != 0 || sig == SIGSTOP || sig == SIGTRAP)
		return 0;
	return sig;
}

static int follow(pid_t program)
{
	int status, result = EXIT_FAILURE;
	pid_t thread;

	while ((thread = waitpid(-1, &status, __WALL)) > 0) {
		if (!WIFSTOPPED(status)) {
			if (thread == program)
				result = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
			continue;
		}
		if (WSTOPSIG(status) == SYSCALL_STOP)
			entered(thread);
		ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(long)signal_of(status));
	}
	return result;
}

int main(int argc, char **argv)
{
	int status;
	pid_t program;

	if (argc < 2) {
		fprintf(stderr, "usage: malloc-calls PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	program = fork();
	if (program == 0)
		child(argv + 1);
	if (program < 0 || waitpid(program, &status, 0) != program || !WIFSTOPPED(status))
		fail("cannot start the program");
	if (ptrace(PTRACE_SETOPTIONS, program, NULL, OPTIONS) != 0)
		fail("ptrace");
	ptrace(PTRACE_SYSCALL, program, NULL, NULL);
	status = follow(program);
	if (status != 0 || marks != 2) {
		fprintf(stderr,
			"malloc-calls: the program ended with status %d after %u of 2 "
			"marks\n",
			status, marks);
		return EXIT_FAILURE;
	}
	printf("calls %lu\n", calls);
	return EXIT_SUCCESS;
}
