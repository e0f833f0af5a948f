/* SPDX-License-Identifier: MIT */
#include "schedule.h"

#include "../support/cpus.h"
#include "../support/process.h"

extern "C" {
#include "inject.h"
#include "lock.h"

void __real_cpu_lock_wait(struct cpu_lock *lock);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_mutex_clocklock(pthread_mutex_t *, clockid_t, const struct timespec *);
int __real_pthread_mutex_timedlock(pthread_mutex_t *, const struct timespec *);
int __real_clock_gettime(clockid_t clock, struct timespec *time);
void __real_clock_sleep(long ns);
}

namespace
{

constexpr std::uint64_t tick_ns = 20000;     /* between two looks at the clock */
constexpr unsigned patience = 40;            /* turns of others before a bounded wait ends */
constexpr unsigned turns_to_deadlock = 4000; /* in a row, all of threads that wait */

struct player {
	sem_t turn;
	bool waits = false; /* for something that another thread must do first */
	bool done = false;
	std::thread thread;
};

class scheduler
{
public:
	scheduler(std::uint64_t seed, std::size_t players) : random_(seed)
	{
		static const unsigned odds[] = {2, 3, 8, 30};
		static const unsigned access_odds[] = {0, 50, 300, 2000};

		for (std::size_t i = 0; i < players; i++) {
			players_.push_back(std::make_unique<player>());
			sem_init(&players_[i]->turn, 0, 0);
		}
		odds_ = odds[random_() % 4];
		access_odds_ = access_odds[random_() % 4];
		choose_access();
	}

	std::uint64_t run(const std::vector<std::function<void()>> &bodies);

	unsigned random(unsigned n) { return static_cast<unsigned>(random_() % n); }

	/* The running thread has passed a mark; others that wait may find what they wait for. */
	void pass(int point)
	{
		note(static_cast<std::uint64_t>(point));
		for (const auto &one : players_)
			one->waits = false;
		idle_turns_ = 0;
		if (random(64) == 0)
			pin(random(2));
		if (random(odds_) == 0)
			give_turn_to(choose());
	}

	/* The running thread is about to access memory. false: nothing happens. */
	bool counts_access() { return access_odds_ && --accesses_left_ == 0; }

	void pass_access()
	{
		choose_access();
		note(3);
		give_turn_to(choose());
	}

	/* The running thread cannot go on. */
	void wait()
	{
		if (++idle_turns_ > turns_to_deadlock) {
			std::fprintf(stderr, "schedule: all threads wait for each other\n");
			std::abort();
		}
		/* A thread that is nobody's may hold the lock. */
		if (idle_turns_ > players_.size() * 4)
			usleep(100);
		players_[current_]->waits = true;
		give_turn_to(choose());
		players_[current_]->waits = false;
	}

	bool is_of_parent() const { return getpid() != process_; }

	std::uint64_t tick() { return now_ += tick_ns; }

private:
	void body(std::size_t i, const std::function<void()> &act);

	void note(std::uint64_t what)
	{
		trace_ = (trace_ ^ (what + current_ * 1000)) * UINT64_C(0x100000001b3);
	}

	void choose_access() { accesses_left_ = access_odds_ ? 1 + random(2 * access_odds_) : 0; }

	/* Any thread that can go on, or else any that waits. */
	std::size_t choose()
	{
		std::vector<std::size_t> ready, waiting;

		for (std::size_t i = 0; i < players_.size(); i++)
			if (!players_[i]->done)
				(players_[i]->waits ? waiting : ready).push_back(i);
		const auto &from = ready.empty() ? waiting : ready;

		return from.empty() ? current_ : from[random(static_cast<unsigned>(from.size()))];
	}

	void give_turn_to(std::size_t next)
	{
		const std::size_t self = current_;

		if (next == self)
			return;
		current_ = next;
		sem_post(&players_[next]->turn);
		if (!players_[self]->done)
			await(self);
	}

	void await(std::size_t self)
	{
		while (sem_wait(&players_[self]->turn) != 0)
			;
	}

	std::mt19937_64 random_;
	std::vector<std::unique_ptr<player>> players_;
	std::size_t current_ = 0;
	std::uint64_t trace_ = UINT64_C(0xcbf29ce484222325), now_ = 1000000000;
	unsigned odds_, access_odds_, accesses_left_, idle_turns_ = 0;
	const pid_t process_ = getpid();
};

thread_local scheduler *mine;

/* The caller's scheduler; NULL: it has none. The child of a fork leaves it at its first mark. */
scheduler *running_under()
{
	if (mine && mine->is_of_parent())
		mine = nullptr;
	return mine;
}

void pass_point(int point)
{
	if (scheduler *one = running_under())
		one->pass(point);
}

void scheduler::body(std::size_t i, const std::function<void()> &act)
{
	await(i);
	pin(i);
	mine = this;
	act();
	mine = nullptr;
	players_[i]->done = true;
	for (const auto &one : players_)
		one->waits = false;
	give_turn_to(choose());
}

std::uint64_t scheduler::run(const std::vector<std::function<void()>> &bodies)
{
	void (*before)(int) = cpu_inject_hook;

	for (std::size_t i = 0; i < bodies.size(); i++)
		players_[i]->thread = std::thread([this, i, &bodies] { body(i, bodies[i]); });
	cpu_inject_hook = pass_point;
	current_ = choose();
	sem_post(&players_[current_]->turn);
	for (const auto &one : players_) {
		one->thread.join();
		sem_destroy(&one->turn);
	}
	cpu_inject_hook = before;
	return trace_;
}

/* NULL: no seed was given. */
const char *given_seed()
{
	static const std::string from_arguments = [] {
		std::ifstream in("/proc/self/cmdline");

		for (std::string word; std::getline(in, word, '\0');)
			if (word.compare(0, 7, "--seed=") == 0)
				return word.substr(7);
		return std::string();
	}();
	const char *from_environment = std::getenv("SLAB_SCHEDULE_SEED");

	return from_arguments.empty() ? from_environment : from_arguments.c_str();
}

/* A run that hangs or crashes has no time for SCOPED_TRACE: the seed is written by a signal
 * handler. */
char seed_line[80];
const int ends[] = {SIGALRM, SIGSEGV, SIGABRT};
struct sigaction before[3];

void write_seed(int signal)
{
	static_cast<void>(!write(STDERR_FILENO, seed_line, std::strlen(seed_line)));
	for (unsigned i = 0; i < 3; i++)
		if (ends[i] == signal)
			sigaction(signal, &before[i], nullptr);
	if (signal == SIGALRM)
		std::abort();
}

void watch_over(std::uint64_t seed)
{
	struct sigaction action = {};

	std::snprintf(seed_line, sizeof(seed_line), "schedule: SLAB_SCHEDULE_SEED=%ju ends here\n",
		      static_cast<std::uintmax_t>(seed));
	action.sa_handler = write_seed;
	for (unsigned i = 0; i < 3; i++)
		sigaction(ends[i], &action, &before[i]);
	alarm(child_seconds);
}

void watch_no_more()
{
	alarm(0);
	for (unsigned i = 0; i < 3; i++)
		sigaction(ends[i], &before[i], nullptr);
}

} /* namespace */

void schedule_point()
{
	pass_point(0);
}

void schedule_access()
{
	if (mine && mine->counts_access() && running_under())
		mine->pass_access();
}

unsigned schedule_random(unsigned n)
{
	return mine->random(n);
}

std::uint64_t run_scheduled(std::uint64_t seed, const std::vector<std::function<void()>> &bodies)
{
	return scheduler(seed, bodies.size()).run(bodies);
}

void for_seeds(unsigned runs, const std::function<void(std::uint64_t)> &test)
{
	const char *wanted = std::getenv("SLAB_SCHEDULE_RUNS"), *seed = given_seed();
	const std::uint64_t first = seed ? std::strtoull(seed, nullptr, 0) : 1;

	if (wanted)
		runs = static_cast<unsigned>(std::atoi(wanted));
	for (std::uint64_t i = first; i < first + (seed ? 1 : runs); i++) {
		SCOPED_TRACE("SLAB_SCHEDULE_SEED=" + std::to_string(i) + " replays this");
		watch_over(i);
		test(i);
		watch_no_more();
		if (testing::Test::HasFailure())
			return;
	}
}

/* --- what the linker leads here (--wrap) -------------------------------------------------------- */

extern "C" {

void __wrap_cpu_lock_wait(struct cpu_lock *lock)
{
	scheduler *one = running_under();

	if (!one)
		__real_cpu_lock_wait(lock);
	else
		while (!cpu_lock_try(lock))
			one->wait();
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	scheduler *one = running_under();

	if (!one)
		return __real_pthread_mutex_lock(mutex);
	one->pass(1);
	while (pthread_mutex_trylock(mutex) != 0)
		one->wait();
	return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	const int result = __real_pthread_mutex_unlock(mutex);

	pass_point(2);
	return result;
}

/* As if the time were over after some turns of others. */
static int lock_within_patience(scheduler *one, pthread_mutex_t *mutex)
{
	for (unsigned i = 0; i < patience; i++) {
		if (pthread_mutex_trylock(mutex) == 0)
			return 0;
		one->wait();
	}
	return ETIMEDOUT;
}

int __wrap_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
				   const struct timespec *until)
{
	return running_under() ? lock_within_patience(mine, mutex)
			       : __real_pthread_mutex_clocklock(mutex, clock, until);
}

int __wrap_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	return running_under() ? lock_within_patience(mine, mutex)
			       : __real_pthread_mutex_timedlock(mutex, until);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	scheduler *one = running_under();

	if (!one)
		return __real_clock_gettime(clock, time);
	const std::uint64_t now = one->tick();

	time->tv_sec = static_cast<time_t>(now / 1000000000);
	time->tv_nsec = static_cast<long>(now % 1000000000);
	return 0;
}

void __wrap_clock_sleep(long ns)
{
	if (scheduler *one = running_under())
		one->wait();
	else
		__real_clock_sleep(ns);
}

} /* extern "C" */
