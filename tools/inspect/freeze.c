/* SPDX-License-Identifier: MIT */
/*
 * PTRACE_SEIZE and PTRACE_INTERRUPT stop a thread without a signal. Threads may be created
 * meanwhile, so the list of threads is read until it has no new one. A thread that was about to get
 * a signal stops with it; it gets the signal when it goes on.
 */
#include "freeze.h"
#include "array.h"
#include "proc.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#define WAIT_NS 200000
/* General registers, and those of vectors, which may be in use for copying pointers. */
#define REGISTER_BYTES 16384u

uint64_t freeze_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

pid_t freeze_tracer(pid_t pid)
{
	const long tracer = proc_status_number(pid, "TracerPid:", 1);

	return tracer > 0 ? (pid_t)tracer : 0;
}

/* Stopping */

static struct frozen_thread *find(struct frozen *frozen, pid_t tid)
{
	for (size_t i = 0; i < frozen->threads; i++) {
		if (frozen->thread[i].tid == tid)
			return &frozen->thread[i];
	}
	return NULL;
}

static bool add(struct frozen *frozen, pid_t tid)
{
	struct frozen_thread *threads =
		array_with_room(frozen->thread, frozen->threads, &frozen->room, sizeof(*threads));

	if (!threads)
		return false;
	frozen->thread = threads;
	frozen->thread[frozen->threads++] = (struct frozen_thread){.tid = tid};
	return true;
}

/* Seize one thread. A thread that has ended in the meantime is no error. */
static int seize(struct frozen *frozen, pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) {
		const int error = errno;

		return proc_thread_has_ended(tid) ? 0 : -error;
	}
	if (!add(frozen, tid)) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return -ENOMEM;
	}
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return 0;
}

static int seize_if_new(int tid, void *frozen)
{
	return find(frozen, tid) ? 0 : seize(frozen, tid);
}

/* Seize the threads that are new in the list. *ret_new: there were some. */
static int seize_new(struct frozen *frozen, bool *ret_new)
{
	const size_t before = frozen->threads;
	const int error = proc_each(frozen->pid, "task", seize_if_new, frozen);

	*ret_new = frozen->threads > before;
	return error;
}

static void drop(struct frozen *frozen, struct frozen_thread *thread)
{
	*thread = frozen->thread[--frozen->threads];
}

/* Has the thread stopped? *ret_ended: it has ended. */
static bool has_stopped(struct frozen_thread *thread, bool *ret_ended)
{
	int status;
	const pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);

	*ret_ended = (got < 0 && errno == ECHILD) || (got > 0 && !WIFSTOPPED(status));
	if (got <= 0 || !WIFSTOPPED(status))
		return false;
	if (status >> 16 != PTRACE_EVENT_STOP)
		thread->signal = WSTOPSIG(status);
	return true;
}

static int give_up(struct frozen *frozen, pid_t tid)
{
	if (proc_state(tid) == 'D')
		frozen->busy = tid;
	return -ETIMEDOUT;
}

static int wait_for_all(struct frozen *frozen, uint64_t deadline_us)
{
	const struct timespec moment = {.tv_nsec = WAIT_NS};

	for (size_t i = 0; i < frozen->threads;) {
		struct frozen_thread *thread = &frozen->thread[i];
		bool ended = false;

		if (thread->stopped || (thread->stopped = has_stopped(thread, &ended)))
			i++;
		else if (ended)
			drop(frozen, thread);
		else if (freeze_now() > deadline_us)
			return give_up(frozen, thread->tid);
		else
			nanosleep(&moment, NULL);
	}
	return frozen->threads ? 0 : -ESRCH;
}

/* Registers */

static uint64_t stack_pointer(const unsigned char *registers, size_t size)
{
	struct user_regs_struct regs;

	if (size < sizeof(regs))
		return 0;
	memcpy(&regs, registers, sizeof(regs));
#if defined(__x86_64__)
	return regs.rsp;
#elif defined(__aarch64__)
	return regs.sp;
#else
	return 0;
#endif
}

static size_t read_set(pid_t tid, unsigned long set, unsigned char *to, size_t room)
{
	struct iovec part = {to, room};

	return ptrace(PTRACE_GETREGSET, tid, (void *)set, &part) == 0 ? part.iov_len : 0;
}

static int read_registers(struct frozen_thread *thread)
{
	unsigned char bytes[REGISTER_BYTES];
	size_t size = read_set(thread->tid, NT_PRSTATUS, bytes, sizeof(bytes));

	thread->sp = stack_pointer(bytes, size);
#ifdef __x86_64__
	size += read_set(thread->tid, NT_X86_XSTATE, bytes + size, sizeof(bytes) - size);
#else
	size += read_set(thread->tid, NT_PRFPREG, bytes + size, sizeof(bytes) - size);
#endif
	thread->count = size / sizeof(uint64_t);
	thread->words = malloc(size ? size : 1);
	if (!thread->words)
		return -ENOMEM;
	memcpy(thread->words, bytes, thread->count * sizeof(uint64_t));
	return 0;
}

/* Interface */

int freeze(struct frozen *frozen, pid_t pid, uint64_t deadline_us)
{
	bool is_new = true;
	int error = 0;

	*frozen = (struct frozen){.pid = pid, .since_us = freeze_now()};
	while (!error && is_new) {
		error = seize_new(frozen, &is_new);
		if (!error)
			error = wait_for_all(frozen, deadline_us);
	}
	for (size_t i = 0; i < frozen->threads && !error; i++)
		error = read_registers(&frozen->thread[i]);
	return error;
}

uint64_t thaw(struct frozen *frozen)
{
	for (size_t i = 0; i < frozen->threads; i++) {
		struct frozen_thread *thread = &frozen->thread[i];

		/* One that has not stopped cannot be detached; the kernel does it when the tool
		 * ends. */
		ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(long)thread->signal);
		thread->signal = 0;
	}
	return freeze_now() - frozen->since_us;
}

void freeze_free(struct frozen *frozen)
{
	for (size_t i = 0; i < frozen->threads; i++)
		free(frozen->thread[i].words);
	free(frozen->thread);
	*frozen = (struct frozen){.pid = 0};
}
