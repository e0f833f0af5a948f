/* SPDX-License-Identifier: MIT */
/* Threads of tests: the CPUs they run on, and signals that interrupt them. */
#pragma once

#include "test.h"

template <typename Threads> void join_all(Threads &threads)
{
	for (std::thread &thread : threads)
		thread.join();
}

inline pid_t thread_id()
{
	return static_cast<pid_t>(syscall(SYS_gettid));
}

/* The CPUs that this process may run on, as it started. */
inline const std::vector<int> &allowed_cpus()
{
	static const std::vector<int> cpus = [] {
		std::vector<int> found;
		cpu_set_t set;

		CPU_ZERO(&set);
		sched_getaffinity(0, sizeof(set), &set);
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &set))
				found.push_back(cpu);
		return found;
	}();

	return cpus;
}

/* Keep thread `tid` (0: the caller) on one of the allowed CPUs, counted round. */
inline void pin(std::size_t index, pid_t tid = 0)
{
	const std::vector<int> &cpus = allowed_cpus();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpus[index % cpus.size()], &set);
	/* A thread that has just ended is no failure. */
	(void)sched_setaffinity(tid, sizeof(set), &set);
}

inline void unpin()
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int cpu : allowed_cpus())
		CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

/* Puts the caller back where it was when this object goes. */
class keeps_affinity
{
public:
	keeps_affinity(const keeps_affinity &) = delete;
	keeps_affinity &operator=(const keeps_affinity &) = delete;

protected:
	keeps_affinity() { (void)sched_getaffinity(0, sizeof(before_), &before_); }

	~keeps_affinity() { (void)sched_setaffinity(0, sizeof(before_), &before_); }

private:
	cpu_set_t before_;
};

/* Keeps the caller on one CPU while this object lives: a slab's free objects are its
 * owner's, and another CPU would begin slabs of its own. */
class on_one_cpu : keeps_affinity
{
public:
	on_one_cpu() { pin(0); }
};

/* Lets the caller use all CPUs of the process while this object lives. */
class on_all_cpus : keeps_affinity
{
public:
	on_all_cpus() { unpin(); }
};

/*
 * Interrupts the calling thread by a signal, many times a second, for as long as
 * this object lives. The default handler yields the CPU: preemption
 * between any two instructions, in places where it is rare otherwise.
 */
class interruptions
{
public:
	explicit interruptions(long per_second, void (*handler)(int) = [](int) { sched_yield(); })
	{
		struct sigaction action = {};
		struct sigevent event = {};
		struct itimerspec times = {};

		action.sa_handler = handler;
		action.sa_flags = SA_RESTART;
		sigaction(SIGUSR1, &action, nullptr);
		event.sigev_notify = SIGEV_THREAD_ID;
		event.sigev_signo = SIGUSR1;
		event._sigev_un._tid = thread_id();
		active_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
		times.it_interval.tv_nsec = 1000000000L / per_second;
		times.it_value = times.it_interval;
		if (active_)
			timer_settime(timer_, 0, &times, nullptr);
	}

	~interruptions()
	{
		if (active_)
			timer_delete(timer_);
	}

	interruptions(const interruptions &) = delete;
	interruptions &operator=(const interruptions &) = delete;

private:
	timer_t timer_ = nullptr;
	bool active_ = false;
};
