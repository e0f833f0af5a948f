/* SPDX-License-Identifier: MIT */
/* The fence of the rseq engine: membarrier(2), which interrupts the CPUs that run threads of the
 * process, or a visit of each CPU. */
#include "rseq.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "one_thread.h"

/* Run on this CPU: the thread that ran there was preempted, so its section restarts. A system
 * call, because its wrapper's mask ends at 1024 CPUs. */
static bool visit(unsigned cpu)
{
	const unsigned bits = 8 * sizeof(unsigned long);
	unsigned long one[CPU_MASK_WORDS] = {0};

	one[cpu / bits] = 1UL << cpu % bits;
	return syscall(SYS_sched_setaffinity, 0, sizeof(one), one) == 0 &&
	       sched_getcpu() == (int)cpu;
}

/* A fence without membarrier, which a system call filter may forbid. It fails if the thread may not
 * visit some CPU, where other threads of the process may run nevertheless. */
static bool visit_cpus(void)
{
	unsigned long before[CPU_MASK_WORDS];
	long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(before), before);
	/* A filter that refuses this would leave the thread bound to one CPU. */
	bool visited = bytes > 0 && syscall(SYS_sched_setaffinity, 0, bytes, before) == 0;

	for (unsigned cpu = 0; visited && cpu < cpu_possible(); cpu++)
		visited = GUARD(fence_visits, visit(cpu));
	if (bytes > 0)
		syscall(SYS_sched_setaffinity, 0, bytes, before);
	return visited;
}

/* The kernel interrupts every CPU that runs a thread of the process and restarts the section
 * that the thread may be in. The child of a fork may have to register again. */
static bool membarrier(void)
{
	for (int tries = 0; tries < 3; tries++) {
		if (GUARD(fence_membarrier,
			  syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0) ==
				  0))
			return true;
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0);
	}
	return false;
}

/* A process with one thread needs no system call, which a filter could answer by killing it: the
 * thread is here and in no section. If this is a signal handler, the signal has ended the section
 * that it interrupted. */
bool rseq_fence(void)
{
	int saved = errno;
	bool fenced;

	if (process_has_one_thread()) {
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		return true;
	}
	fenced = membarrier() || visit_cpus();
	errno = saved;
	return fenced;
}
