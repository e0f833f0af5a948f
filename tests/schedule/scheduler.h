/* SPDX-License-Identifier: MIT */
/* What the parts of the scheduler share: who runs, who waits, where a thread can be stopped. */
#pragma once

#include "schedule.h"

struct player {
	sem_t turn;
	bool waits = false;          /* for something that another thread must do first */
	bool done = false;
	int cpu = 0;                 /* as the library sees it */
	unsigned sleeps = 0;         /* turns of others, which go first */
	std::vector<const void *> mutexes, cpu_locks; /* that it has locked */
	bool stopped = false;        /* preempted while it holds a lock: the others go on */
	const std::function<void()> *handler = nullptr; /* of a signal */
	unsigned signal_odds = 0;
	bool handles = false, alone = false; /* a signal; and no other thread goes on meanwhile */
	unsigned locks_taken = 0;
	const void *futex = nullptr; /* waits for a wake-up there */
	bool aborted = false;        /* a section that the thread has begun may not commit */
	std::thread thread;
};

class scheduler
{
public:
	scheduler(std::uint64_t seed, std::size_t players, const schedule_plan *plan);

	std::uint64_t run(const std::vector<std::function<void()>> &bodies);

	unsigned random(unsigned n) { return static_cast<unsigned>(random_() % n); }

	/* The running thread has passed a mark; others that wait may find what they wait for. */
	void pass(int point);

	/* The running thread is about to access memory. false: nothing happens. */
	bool counts_access()
	{
		return !me().alone && (plan_ || (access_odds_ && --accesses_left_ == 0));
	}

	void pass_access();
	/* The running thread cannot go on. */
	void wait();
	/* The running thread is stopped within a section. true: the section is aborted. */
	bool stop_in_section();
	/* Is the thread to be stopped between two instructions of the next section? */
	bool wants_steps()
	{
		return !plan_ && !me().alone && step_odds_ && random(step_odds_) == 0;
	}

	/* The running thread has taken a lock, at which its scene may want it preempted. */
	void took(const void *lock);
	void stop_holder(const void *lock, unsigned nth);

	bool holder_was_stopped() const { return holder_was_stopped_; }

	bool holder_is_stopped() const { return holder_ && holder_->stopped; }

	void abort_sections();
	void move_to(int cpu);

	bool real_locks() const { return real_locks_; }

	player &me() { return *players_[current_]; }

	const std::vector<std::unique_ptr<player>> &players() const { return players_; }

	bool is_of_parent() const { return getpid() != process_; }

	std::uint64_t tick() { return now_ += tick_ns; }

	unsigned marks() const { return marks_; }

private:
	static constexpr std::uint64_t tick_ns = 20000; /* between two looks at the clock */

	void body(std::size_t i, const std::function<void()> &act);
	void note(std::uint64_t what);
	void choose_access();
	std::size_t choose();
	void follow_plan();
	bool interrupt();
	bool holder_goes_on(bool others_can);
	void end(std::size_t i);
	void preempt_others(const player &self);
	void give_turn_to(std::size_t next);
	void await(std::size_t self);

	std::mt19937_64 random_;
	std::vector<std::unique_ptr<player>> players_;
	std::size_t current_ = 0;
	std::uint64_t trace_ = UINT64_C(0xcbf29ce484222325), now_ = 1000000000;
	unsigned odds_, access_odds_, step_odds_, accesses_left_, idle_turns_ = 0, marks_ = 0;
	bool real_locks_;
	const schedule_plan *plan_;
	std::size_t planned_ = 0; /* entries of the plan that are behind */
	player *holder_ = nullptr; /* to be preempted when it has taken this lock */
	const void *stop_at_ = nullptr;
	unsigned stops_after_ = 0;
	bool holder_was_stopped_ = false;
	const pid_t process_ = getpid();
};

/* The caller's scheduler; NULL: it has none. The child of a fork leaves it at its first mark. */
scheduler *running_under();
/* Let the library see this program's CPUs in place of the kernel's (sections.cc). */
void schedule_cpus();
/* The CPU of the calling thread, for the fast paths of the engine rseq. */
void show_cpu(int cpu);
/* From now on the thread may be stopped between any two instructions of a section. */
void step_through_sections();
/* A word of four bytes has changed, which may be a lock (cpu_cache/lock.h). */
void schedule_lock_word(const volatile void *word, std::uint32_t before, std::uint32_t after);
/* The scheduler's own code is passed over. Returns the steps that are left. */
unsigned stop_stepping();
void go_on_stepping(unsigned steps);
