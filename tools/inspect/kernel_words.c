/* SPDX-License-Identifier: MIT */
/*
 * Linux shows the data of epoll_ctl(2) in fdinfo, the values of timers in /proc/PID/timers, and
 * those of signals that wait by PTRACE_PEEKSIGINFO. It shows nothing of the requests that io_uring
 * works on.
 */
#include "kernel_words.h"
#include "array.h"
#include "memory.h"
#include "proc.h"

#include <sys/ptrace.h>

#define SIGNALS_AT_ONCE 32

static int add(struct kernel_words *words, uint64_t word)
{
	uint64_t *grown = array_with_room(words->word, words->count, &words->room, sizeof(word));

	if (!grown)
		return -ENOMEM;
	words->word = grown;
	words->word[words->count++] = word;
	return 0;
}

struct lines {
	struct kernel_words *words;
	const char *format;
};

static int add_line(char *line, void *arg)
{
	const struct lines *lines = arg;
	uint64_t word;

	return sscanf(line, lines->format, &word) == 1 ? add(lines->words, word) : 0;
}

/* Add the number in each line of a file of /proc/PID that has the format. `flag`: the file is
 * missing. */
static int add_lines(struct kernel_words *words, pid_t pid, const char *name, const char *format,
		     unsigned flag)
{
	struct lines lines = {words, format};
	const int error = proc_lines(pid, name, add_line, &lines);

	if (error && error != -ENOMEM)
		words->hidden |= flag;
	return error == -ENOMEM ? error : 0;
}

/* --- descriptors ----------------------------------------------------------------------------- */

struct descriptors {
	struct kernel_words *words;
	pid_t pid;
};

static int see_descriptor(int number, void *arg)
{
	const struct descriptors *descriptors = arg;
	struct kernel_words *words = descriptors->words;
	char link[32], target[PATH_MAX];
	int *grown;

	snprintf(link, sizeof(link), "fd/%d", number);
	proc_link(descriptors->pid, link, target);
	if (strcmp(target, "anon_inode:[io_uring]") == 0)
		words->hidden |= MEMORY_HIDDEN_IO_URING;
	if (strcmp(target, "anon_inode:[eventpoll]") != 0)
		return 0;
	grown = array_with_room(words->epoll, words->epolls, &words->epoll_room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	words->epoll = grown;
	words->epoll[words->epolls++] = number;
	return 0;
}

int kernel_words_find(struct kernel_words *words, pid_t pid)
{
	struct descriptors descriptors = {words, pid};
	const int error = proc_each(pid, "fd", see_descriptor, &descriptors);

	if (error && error != -ENOMEM)
		words->hidden |= MEMORY_HIDDEN_EPOLL | MEMORY_HIDDEN_IO_URING;
	return error == -ENOMEM ? error : 0;
}

static int see_epolls(struct kernel_words *words, pid_t pid)
{
	char name[32];
	int error = 0;

	for (size_t i = 0; i < words->epolls && !error; i++) {
		snprintf(name, sizeof(name), "fdinfo/%d", words->epoll[i]);
		error = add_lines(words, pid, name, "tfd: %*d events: %*x data: %" SCNx64,
				  MEMORY_HIDDEN_EPOLL);
	}
	return error;
}

/* --- timers and signals ---------------------------------------------------------------------- */

static int see_timers(struct kernel_words *words, pid_t pid)
{
	return add_lines(words, pid, "timers", "signal: %*d/%" SCNx64, MEMORY_HIDDEN_TIMERS);
}

static int add_signal(struct kernel_words *words, const siginfo_t *info)
{
	return add(words, (uintptr_t)info->si_value.sival_ptr);
}

/* The signals that wait for a thread, or with PTRACE_PEEKSIGINFO_SHARED for the process. */
static int see_queue(struct kernel_words *words, pid_t tid, uint32_t flags)
{
	struct __ptrace_peeksiginfo_args part = {.flags = flags, .nr = SIGNALS_AT_ONCE};
	siginfo_t info[SIGNALS_AT_ONCE];
	int error = 0;
	long n = SIGNALS_AT_ONCE;

	while (!error && n == SIGNALS_AT_ONCE) {
		n = ptrace(PTRACE_PEEKSIGINFO, tid, &part, info);
		if (n < 0)
			words->hidden |= MEMORY_HIDDEN_SIGNALS;
		for (long i = 0; i < n && !error; i++)
			error = add_signal(words, &info[i]);
		part.off += SIGNALS_AT_ONCE;
	}
	return error;
}

/* A thread that was about to get a signal has it already. */
static int see_signals(struct kernel_words *words, const struct frozen *frozen)
{
	int error = see_queue(words, frozen->thread[0].tid, PTRACE_PEEKSIGINFO_SHARED);

	for (size_t i = 0; i < frozen->threads && !error; i++) {
		const struct frozen_thread *thread = &frozen->thread[i];
		siginfo_t info;

		error = see_queue(words, thread->tid, 0);
		if (!error && thread->signal &&
		    ptrace(PTRACE_GETSIGINFO, thread->tid, NULL, &info) == 0)
			error = add_signal(words, &info);
	}
	return error;
}

int kernel_words_read(struct kernel_words *words, const struct frozen *frozen)
{
	int error = see_epolls(words, frozen->pid);

	if (!error)
		error = see_timers(words, frozen->pid);
	return error ? error : see_signals(words, frozen);
}

void kernel_words_free(struct kernel_words *words)
{
	free(words->word);
	free(words->epoll);
	*words = (struct kernel_words){.word = NULL};
}
