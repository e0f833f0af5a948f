/* SPDX-License-Identifier: MIT */
/*
 * Running slab-symbolize without the application noticing.
 *
 * A child that executes a program signals SIGCHLD and is seen by waitpid(-1),
 * whatever it was cloned with. So there are two: a supervisor, which signals
 * nothing, is waited for with __WCLONE only, and never executes anything, and
 * its child, the helper. The supervisor shares the memory and has its own table
 * of descriptors: it closes all of them, so that a process at its limit can have
 * its pipes, and nothing that the application closes meanwhile stays open. The
 * thread that asked stands still until the supervisor is done (CLONE_VFORK); the
 * deadline is the supervisor's to keep.
 *
 * Supervisor and helper run with all signals blocked, on stacks of their own,
 * with the thread-local storage of the thread that asked. Where the C library's
 * functions could cancel that thread, run handlers of fork or call malloc, they
 * use the system calls. This file is never instrumented by sanitizers: a call
 * that does not return, as execve(), would confuse them. Emulators that know no
 * child without a signal (qemu-user) refuse the first clone(), and that is all.
 */
#define _GNU_SOURCE
#include "report/symbol_internal.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES 32768
/* Closed where close_range() is missing (before Linux 5.9): enough for ours. */
#define DESCRIPTORS_NEEDED 16

/* What clone() is called when no sanitizer stands before it. */
extern int __clone(int (*function)(void *arg), void *stack, int flags, void *arg, ...);

/*
 * One run. Shared memory, because valgrind and emulators make a plain fork of
 * our clone(), and the answers come from there.
 */
struct helper_run {
	const char *program;
	const struct symbol_query *queries;
	unsigned count;
	uint64_t deadline;
	int helper;    /* descriptor of the program */
	int answer[2]; /* a pipe, from the helper's stdout */
	uint64_t offset;
	char path[PATH_MAX], line[PATH_MAX + 32];
	char library[PATH_MAX];
	size_t answers_len;
	char answers[SYMBOL_BATCH * SYMBOL_TEXT];
	_Alignas(64) char supervisor_stack[STACK_BYTES];
	_Alignas(64) char helper_stack[STACK_BYTES];
};

/* Where the helper is, seen from the folder of the file that this code is in:
 * beside a static program, in a build tree, installed. */
static const char *const places[] = {
	"slab-symbolize",
	"../bin/slab-symbolize",
	SLAB_SYMBOLIZE_FROM_LIB,
	SLAB_SYMBOLIZE_FROM_BIN,
};

#define PLACES (sizeof(places) / sizeof(places[0]))

static void close_inherited(void)
{
	if (syscall(SYS_close_range, 0U, ~0U, 0U) == 0)
		return;
	for (int fd = 0; fd < DESCRIPTORS_NEEDED; fd++)
		syscall(SYS_close, fd);
}

/*
 * Trusted is what root or the owner of the library put there: a program may lie
 * in a folder where others can write, too, such as /tmp.
 */
static int open_if_trusted(const char *path, const char *library)
{
	struct stat st, own;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_PATH, 0);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !(st.st_mode & S_IWOTH) &&
	    (st.st_uid == 0 || (stat(library, &own) == 0 && st.st_uid == own.st_uid)))
		return fd;
	syscall(SYS_close, fd);
	return -1;
}

/* In a setuid program only the place that it was built for counts. */
static int open_helper(struct helper_run *run)
{
	const char *code = (const char *)(uintptr_t)open_helper;
	char *slash = NULL;
	int fd = -1;

	if (symbol_locate(code + 1, run->library, sizeof(run->library), &run->offset))
		slash = strrchr(run->library, '/');
	if (run->program)
		return open_if_trusted(run->program, run->library);
	for (size_t i = 0; slash && !getauxval(AT_SECURE) && fd < 0 && i < PLACES; i++) {
		int dir = (int)(slash + 1 - run->library);

		snprintf(run->path, sizeof(run->path), "%.*s%s", dir, run->library, places[i]);
		fd = open_if_trusted(run->path, run->library);
	}
	return fd >= 0 ? fd : open_if_trusted(SLAB_SYMBOLIZE_INSTALLED, run->library);
}

/* The helper's stdin: a file in memory, so that nobody waits for anybody. */
static bool write_request(struct helper_run *run, int fd)
{
	for (unsigned i = 0; i < run->count; i++) {
		const void *frame = run->queries[i].frame;
		int len;

		/* Which cannot be located is asked for by a name that no file has. */
		if (!symbol_locate(frame, run->path, sizeof(run->path), &run->offset) ||
		    strpbrk(run->path, "\t\n"))
			snprintf(run->path, sizeof(run->path), "/");
		len = snprintf(run->line, sizeof(run->line), "%s\t0x%lx\n", run->path,
			       (unsigned long)run->offset);
		if (syscall(SYS_write, fd, run->line, (size_t)len) != len)
			return false;
	}
	return syscall(SYS_lseek, fd, 0, SEEK_SET) == 0;
}

/* The helper, until it is one: what it says on stderr goes to a descriptor that
 * cannot be written. Scripts need theirs kept open. */
static int execute(void *arg)
{
	struct helper_run *run = arg;
	char name[] = "slab-symbolize";
	char *argv[] = {name, NULL}, *envp[] = {NULL};

	syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (syscall(SYS_dup3, run->answer[1], STDOUT_FILENO, 0) < 0 ||
	    syscall(SYS_dup3, run->answer[0], STDERR_FILENO, 0) < 0)
		return 1;
	syscall(SYS_execveat, run->helper, "", argv, envp, AT_EMPTY_PATH);
	return 1;
}

static void read_answers(struct helper_run *run)
{
	struct pollfd ready = {.fd = run->answer[0], .events = POLLIN};

	while (run->answers_len < sizeof(run->answers)) {
		uint64_t now = symbol_now();
		uint64_t left = now < run->deadline ? run->deadline - now : 0;
		struct timespec wait = {(time_t)(left / 1000), (long)(left % 1000) * 1000000};
		long len;

		if (left == 0 || syscall(SYS_ppoll, &ready, 1, &wait, NULL, 0) <= 0)
			return;
		len = syscall(SYS_read, run->answer[0], run->answers + run->answers_len,
			      sizeof(run->answers) - run->answers_len);
		if (len <= 0)
			return;
		run->answers_len += (size_t)len;
	}
}

static bool prepare(struct helper_run *run)
{
	int request;

	close_inherited();
	/* Takes 0 and, for the time being, 1 and 2. */
	request = (int)syscall(SYS_memfd_create, "slab-symbolize", 0);
	if (request != STDIN_FILENO || syscall(SYS_dup, request) < 0 ||
	    syscall(SYS_dup, request) < 0)
		return false;
	run->helper = open_helper(run);
	return run->helper >= 0 && write_request(run, request) &&
	       syscall(SYS_pipe2, run->answer, O_CLOEXEC) == 0;
}

static int supervise(void *arg)
{
	struct helper_run *run = arg;
	int pid;

	syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (!prepare(run))
		return 1;
	pid = __clone(execute, run->helper_stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, run);
	if (pid < 0)
		return 1;
	syscall(SYS_close, run->answer[1]);
	read_answers(run);
	syscall(SYS_kill, pid, SIGKILL);
	syscall(SYS_wait4, pid, NULL, __WALL, NULL);
	return 0;
}

/* Complete lines count, also those of a helper that was too late for the rest. */
static bool take_answers(struct helper_run *run, unsigned n, struct symbol_query *queries)
{
	const char *line = run->answers;

	for (unsigned i = 0; i < n; i++) {
		const char *end =
			memchr(line, '\n', run->answers_len - (size_t)(line - run->answers));

		if (!end)
			return false;
		if (end > line)
			snprintf(queries[i].text, SYMBOL_TEXT, "%.*s", (int)(end - line), line);
		queries[i].answered = true;
		line = end + 1;
	}
	return true;
}

bool symbol_ask(unsigned n, struct symbol_query *queries, const char *program, uint64_t deadline)
{
	struct helper_run *run =
		mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool complete;
	int pid;

	if (run == MAP_FAILED)
		return false;
	run->program = program;
	run->queries = queries;
	run->count = n;
	run->deadline = deadline;
	pid = __clone(supervise, run->supervisor_stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, run);
	if (pid > 0)
		syscall(SYS_wait4, pid, NULL, __WCLONE, NULL);
	complete = pid > 0 && take_answers(run, n, queries);
	munmap(run, sizeof(*run));
	return complete;
}
