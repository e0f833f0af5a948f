/* SPDX-License-Identifier: MIT */
#include "scheduler.h"

#include "../support/cpus.h"
#include "../support/process.h"
#include "../support/rooms.h"

extern "C" {
#include "base/cancel.h"
}

namespace
{

constexpr unsigned turns_to_deadlock = 4000; /* in a row, all of threads that wait */
constexpr unsigned most_marks = 1000000;
constexpr std::size_t cpus = 2;

thread_local scheduler *mine;
const schedule_plan *next_plan; /* of run_scheduled() within for_plans() */
const char *guard_off = std::getenv("SLAB_GUARD_OFF");

/* What a run tells the process that started it. */
struct told {
	unsigned marks;
	bool tried_guard; /* in the last run of this test */
	std::uint8_t
		others[1 << 16]; /* the threads that could go on at a mark in place of its own */
};
told *const tells = static_cast<told *>(
	mmap(nullptr, sizeof(told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));

void pass_point(int point)
{
	const unsigned steps = stop_stepping();

	if (scheduler *one = running_under())
		one->pass(point);
	go_on_stepping(steps);
}

[[noreturn]] void give_up(const char *why)
{
	std::fprintf(stderr, "schedule: %s\n", why);
	std::abort();
}

} /* namespace */

scheduler::scheduler(std::uint64_t seed, std::size_t players, const schedule_plan *plan)
	: random_(seed), plan_(plan)
{
	static const unsigned odds[] = {2, 3, 8, 30};
	static const unsigned access_odds[] = {0, 50, 300, 2000};
	static const unsigned step_odds[] = {0, 0, 0, 500};

	for (std::size_t i = 0; i < players; i++) {
		players_.push_back(std::make_unique<player>());
		sem_init(&players_[i]->turn, 0, 0);
		players_[i]->cpu = plan ? 0 : static_cast<int>(i % cpus);
	}
	odds_ = odds[random(4)];
	access_odds_ = access_odds[random(4)];
	step_odds_ = step_odds[random(4)];
	real_locks_ = plan || random(4) == 0;
	choose_access();
}

scheduler *running_under()
{
	if (mine && mine->is_of_parent())
		mine = nullptr;
	return mine;
}

void scheduler::note(std::uint64_t what)
{
	trace_ = (trace_ ^ (what + current_ * 1000)) * UINT64_C(0x100000001b3);
	if (++marks_ > most_marks)
		give_up("the threads do not end");
	if (!plan_ || marks_ >= std::size(tells->others))
		return;
	unsigned others = 0;

	for (std::size_t i = 0; i < players_.size(); i++)
		others |= i != current_ && !players_[i]->done ? 1u << i : 0;
	tells->others[marks_] = static_cast<std::uint8_t>(others);
}

void scheduler::choose_access()
{
	accesses_left_ = access_odds_ ? 1 + random(2 * access_odds_) : 0;
}

/* By the plan, if this mark is in it. */
void scheduler::follow_plan()
{
	if (planned_ == plan_->size() || (*plan_)[planned_].first != marks_)
		return;
	const std::size_t next = (*plan_)[planned_++].second;

	if (!players_[next]->done)
		give_turn_to(next);
}

void scheduler::pass(int point)
{
	if (me().alone)
		return;
	stop_stepping();
	note(static_cast<std::uint64_t>(point));
	for (const auto &one : players_)
		one->waits = false;
	idle_turns_ = 0;
	if (plan_) {
		follow_plan();
		return;
	}
	if (random(64) == 0)
		move_to(static_cast<int>(random(cpus)));
	if (random(500) == 0)
		me().sleeps = random(400);
	if (random(odds_) == 0)
		give_turn_to(choose());
	interrupt();
}

void scheduler::pass_access()
{
	stop_stepping();
	note(3);
	if (plan_) {
		follow_plan();
		return;
	}
	choose_access();
	if (random(100) == 0)
		me().sleeps = random(400);
	give_turn_to(choose());
	interrupt();
}

void scheduler::wait()
{
	stop_stepping();
	if (++idle_turns_ > turns_to_deadlock)
		give_up("all threads wait for each other");
	/* A thread that is nobody's may hold the lock. */
	if (idle_turns_ > players_.size() * 4 && !holder_is_stopped())
		usleep(1);
	if (me().alone)
		give_up("a thread that is alone waits");
	me().waits = true;
	give_turn_to(choose());
	me().waits = false;
	interrupt();
}

void scheduler::move_to(int cpu)
{
	me().cpu = cpu;
	show_cpu(cpu);
	preempt_others(me());
}

/* Any thread that can go on, or else one that sleeps, or else any that waits. By a plan, the first
 * of them. */
std::size_t scheduler::choose()
{
	std::vector<std::size_t> ready, asleep, waiting;

	for (std::size_t i = 0; i < players_.size(); i++) {
		player &one = *players_[i];

		if (one.done || one.stopped)
			continue;
		if (one.waits)
			waiting.push_back(i);
		else if (one.sleeps && i + 1)
			one.sleeps--, asleep.push_back(i);
		else
			ready.push_back(i);
	}
	const auto &from = !ready.empty() ? ready : !asleep.empty() ? asleep : waiting;

	if (holder_goes_on(!from.empty()))
		return choose();
	if (from.empty())
		return current_;
	if (!plan_)
		return from[random(static_cast<unsigned>(from.size()))];
	/* In turns: of threads that all wait, the first may wait for the second. */
	const auto next = std::upper_bound(from.begin(), from.end(), current_);

	return next == from.end() ? from.front() : *next;
}

/* Thread `self` runs on a CPU: it has preempted who was stopped in a section there. */
void scheduler::preempt_others(const player &self)
{
	for (const auto &one : players_)
		if (one->cpu == self.cpu && one.get() != &self)
			one->aborted = true;
}

void scheduler::give_turn_to(std::size_t next)
{
	const std::size_t self = current_;

	if (next == self)
		return;
	preempt_others(*players_[next]);
	current_ = next;
	sem_post(&players_[next]->turn);
	if (!players_[self]->done)
		await(self);
}

void scheduler::await(std::size_t self)
{
	const int cancel = cancel_disable(); /* a thread ends where the library lets it */

	while (sem_wait(&players_[self]->turn) != 0)
		;
	cancel_restore(cancel);
}

void scheduler::body(std::size_t i, const std::function<void()> &act)
{
	await(i);
	show_cpu(players_[i]->cpu);
	mine = this;
	const std::unique_ptr<scheduler, std::function<void(scheduler *)>> ends(
		this, [i](scheduler *one) { one->end(i); }); /* it may be cancelled */

	act();
}

void scheduler::end(std::size_t i)
{
	mine = nullptr;
	stop_stepping();
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
	current_ = plan_ ? 0 : choose();
	sem_post(&players_[current_]->turn);
	for (const auto &one : players_) {
		one->thread.join();
		sem_destroy(&one->turn);
	}
	cpu_inject_hook = before;
	return trace_;
}

/* --- seeds and plans -------------------------------------------------------------------------- */

namespace
{

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

std::string test_name()
{
	const auto *test = testing::UnitTest::GetInstance()->current_test_info();

	return std::string(test->test_suite_name()) + "." + test->name();
}

/* Tests that do not reach the removed guard are tried now and then only. */
bool is_worth_it()
{
	static std::set<std::string> not_reached;
	static std::mt19937 random(1);

	if (!guard_off)
		return true;
	if (!tells->tried_guard)
		not_reached.insert(test_name());
	return !not_reached.count(test_name()) || random() % 16 == 0;
}

/* Its self-test may have found that a guard is off. */
bool has_wanted_engine()
{
	const char *wanted = std::getenv("SLAB_ENGINE");

	return !wanted || std::strcmp(wanted, cpu_engine->name) == 0;
}

constexpr int status_of_self_test = 9;

/* One run, in a process of its own: it begins in the same state as each other one, so it replays
 * alone. A removed guard was found if it fails. */
bool runs_well(const std::string &which, const std::function<void()> &test)
{
	tells->tried_guard = false;
	const std::string failure = run_in_child_now([&]() noexcept {
		alarm(guard_off ? 5 : child_seconds);
		schedule_cpus();
		if (!has_wanted_engine())
			return status_of_self_test;
		pin(static_cast<std::size_t>(getpid())); /* after the library has seen all CPUs */
		test();
		std::fflush(nullptr);
		return testing::Test::HasFailure() ? 1 : 0;
	});

	if (failure.empty())
		return true;
	const bool at_start = failure == "exit status " + std::to_string(status_of_self_test);

	ADD_FAILURE() << "schedule: " << (at_start ? "1 self-test" : which)
		      << " fails: " << failure;
	if (guard_off)
		_exit(1);
	return false;
}

/* n of the preemptions that the last run could have had from a mark on; the next n with each
 * `turn`. */
schedule_plan further(unsigned mark, unsigned n, unsigned turn)
{
	schedule_plan all;

	for (; mark <= tells->marks && mark < std::size(tells->others); mark++)
		for (std::size_t next = 0; next < 8; next++)
			if (tells->others[mark] >> next & 1)
				all.emplace_back(mark, next);
	if (all.size() <= n)
		return all;
	std::shuffle(all.begin(), all.end(), std::mt19937(1));
	std::rotate(all.begin(), all.begin() + turn * n % static_cast<unsigned>(all.size()),
		    all.end());
	all.resize(n);
	return all;
}

} /* namespace */

void for_seeds(unsigned runs, const std::function<void(std::uint64_t)> &test)
{
	static std::map<std::string, std::uint64_t> behind; /* of --gtest_repeat */
	const char *wanted = std::getenv("SLAB_SCHEDULE_RUNS"), *seed = given_seed();
	std::uint64_t &last = behind[test_name()];

	if (wanted)
		runs = static_cast<unsigned>(std::atoi(wanted));
	if (guard_off)
		runs = 1 + runs / 30;
	if (seed)
		last = std::strtoull(seed, nullptr, 0) - 1;
	tells->tried_guard = true;
	for (runs = seed ? 1 : runs; runs && is_worth_it(); runs--) {
		const std::uint64_t now = ++last;

		if (!runs_well("SLAB_SCHEDULE_SEED=" + std::to_string(now) + " " + test_name(),
			       [&] { test(now); }))
			return;
	}
}

void for_plans(unsigned preemptions, unsigned most, const std::function<void()> &test)
{
	static std::map<std::string, unsigned> turns; /* of scenes, under --gtest_repeat */
	static unsigned firsts;
	unsigned seconds = 0; /* preemptions that follow the same first one */
	schedule_plan plan;

	if (guard_off)
		most = 1 + most / 16; /* and the next ones in the next turn */
	tells->tried_guard = true;
	if (!is_worth_it())
		return;
	const std::function<bool()> search = [&] {
		std::string which = "plan";

		for (const auto &one : plan)
			which += " " + std::to_string(one.first) + ">" + std::to_string(one.second);
		next_plan = &plan;
		const bool well = runs_well(which + " " + test_name(), test);

		next_plan = nullptr;
		if (!well || plan.size() == preemptions || !is_worth_it())
			return well;
		const std::string scene = test_name() + std::to_string(tells->marks);
		const schedule_plan next =
			plan.empty() ? further(1, most, turns[scene]++)
				     : further(plan.back().first + 1, seconds, firsts++);

		if (plan.empty())
			seconds = 1 + most / (1 + static_cast<unsigned>(next.size()));
		for (const auto &one : next) {
			plan.push_back(one);
			if (!search())
				return false;
			plan.pop_back();
		}
		return true;
	};

	tells->tried_guard = true;
	if (!given_seed() && is_worth_it())
		search();
}

/* --- marks ------------------------------------------------------------------------------------ */

void schedule_point()
{
	pass_point(0);
}

void schedule_access()
{
	const unsigned steps = stop_stepping();

	if (mine && mine->counts_access() && running_under())
		mine->pass_access();
	go_on_stepping(steps);
}

void schedule_entry()
{
	const unsigned steps = stop_stepping();

	schedule_access();
	if (steps)
		go_on_stepping(steps);
	else if (mine && mine->wants_steps() && running_under())
		step_through_sections();
}

void schedule_until(const std::function<bool()> &is_true)
{
	while (!is_true() && running_under())
		mine->wait();
}

void schedule_yield()
{
	bool others_went_on = false;

	schedule_until([&] { return std::exchange(others_went_on, true); });
}

void schedule_steps()
{
	if (running_under() && !mine->me().alone)
		step_through_sections();
}

unsigned schedule_random(unsigned n)
{
	static std::mt19937 of_child(1);

	return mine ? mine->random(n) : static_cast<unsigned>(of_child() % n);
}

std::uint64_t run_scheduled(std::uint64_t seed, const std::vector<std::function<void()>> &bodies)
{
	scheduler one(seed, bodies.size(), next_plan);
	const std::uint64_t trace = one.run(bodies);

	tells->marks = one.marks();
	return trace;
}

/* --- guards ----------------------------------------------------------------------------------- */

extern "C" bool cpu_guard_is_off(const char *name)
{
	const bool off = guard_off && std::strcmp(name, guard_off) == 0;

	if (off)
		tells->tried_guard = true;
	return off;
}
