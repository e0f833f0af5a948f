/* SPDX-License-Identifier: MIT */
/*
 * Stopping all threads of a process for a moment, with ptrace(2), and their registers. The process
 * gets no signal. If the tool dies meanwhile, the kernel lets the process go on.
 */
#pragma once

#include "posix.h"

struct frozen_thread {
	pid_t tid;
	bool stopped;
	int signal; /* to deliver when it goes on, 0: none */
	uint64_t sp;
	uint64_t *words; /* of its registers */
	size_t count;
};

struct frozen {
	pid_t pid;
	struct frozen_thread *thread;
	size_t threads, room;
	pid_t busy; /* a thread that sleeps and cannot be stopped (state D); 0: none */
	uint64_t since_us; /* of the monotonic clock: before the first thread was stopped */
};

/* freeze: stop all threads, and read their registers. Returns 0 or -errno; -ETIMEDOUT: some thread
 * did not stop before the deadline. thaw() must be called in any case. */
int freeze(struct frozen *frozen, pid_t pid, uint64_t deadline_us);

/* thaw: let the process go on; returns for how long it stood still, in microseconds. Registers stay
 * until freeze_free(). */
uint64_t thaw(struct frozen *frozen);
void freeze_free(struct frozen *frozen);

/* freeze_tracer: the process that traces a process, 0: none. */
pid_t freeze_tracer(pid_t pid);

/* Microseconds of the monotonic clock. */
uint64_t freeze_now(void);
