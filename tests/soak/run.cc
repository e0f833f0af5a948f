/* SPDX-License-Identifier: MIT */
/* Rounds of a soak, and its progress. */
#include "run.h"

#include "../support/flavours.h"
#include "conductor.h"
#include "faults.h"

namespace soak
{

namespace
{

/* Without an operation for so long, threads wait for each other. */
constexpr double stall_seconds = 300, progress_seconds = 10;

/* libslab reads its environment when it is first used, which may be before main(). Two nodes, and
 * decay all the time. */
__attribute__((constructor(101))) void set_environment()
{
	setenv("SLAB_FAKE_NODES", "2", 0);
	setenv("SLAB_DECAY_MS", "50", 0);
}

/* The order that liburcu wants. */
const bool registered =
	(pthread_atfork(urcu_bp_before_fork, urcu_bp_after_fork_parent, urcu_bp_after_fork_child),
	 pthread_atfork(urcu_bp_call_rcu_before_fork, urcu_bp_call_rcu_after_fork_parent,
			urcu_bp_call_rcu_after_fork_child),
	 true);

double now()
{
	struct timespec now = {};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/* Objects that remain in a cache: those with an owner were lost by the soak, the others by
 * libslab. */
void write_owners(const char *text)
{
	static const char before[] = "\nObject 0x";

	for (; (text = std::strstr(text, before)); text++) {
		const auto address = std::strtoull(text + sizeof(before) - 1, nullptr, 16);
		const void *obj = reinterpret_cast<const void *>(address);

		dprintf(STDERR_FILENO, "soak: object %p %s\n", obj, ownership_of(obj));
	}
}

/* Nothing is reported in a soak. */
void take_report(const struct slab_report *report, void *)
{
	error(report->reason, report->cache, report->object, 0);
	if (is_silent() || errors() > 3)
		return;
	dprintf(STDERR_FILENO, "%s", report->text);
	if (std::strncmp(report->reason, "Objects remaining", 17) == 0)
		write_owners(report->text);
}

/* Checked operations of this round. */
std::uint64_t count_operations()
{
	std::uint64_t all = 0;

	for (const struct worker &worker : workers)
		all += worker.done.load(std::memory_order_relaxed) +
		       worker.in_handler.load(std::memory_order_relaxed);
	for (const struct conductor &conductor : conductors)
		all += conductor.seat.done.load(std::memory_order_relaxed);
	return all;
}

class soak
{
public:
	explicit soak(const struct options &options) : options_(options), start_(now()) {}

	struct result run()
	{
		while (!is_over())
			run_round();
		return {operations_, errors(), disturbances_made(), rounds_};
	}

private:
	std::uint64_t operations() const { return operations_ + count_operations(); }

	bool is_over() const
	{
		return errors() || (options_.seconds > 0 && now() - start_ >= options_.seconds) ||
		       (options_.operations && operations() >= options_.operations);
	}

	void begin_round()
	{
		const std::uint64_t seed = options_.seed + rounds_ * UINT64_C(1000003);

		create_kinds();
		create_shared();
		for (unsigned i = 0; i < workers_most; i++)
			workers[i].begin(i, seed);
		conductors_leave = false;
		fill_roster(options_.threads);
		for (unsigned i = 0; i < options_.conductors; i++) {
			conductors[i].begin(i, seed);
			create_thread(&conductors[i].thread, conduct, &conductors[i]);
		}
		plant_error(options_.plant);
	}

	void watch_round()
	{
		const double begun = now();

		while (!is_over() && now() - begun < options_.round_seconds) {
			usleep(20000);
			watch_progress();
		}
	}

	void watch_progress()
	{
		const std::uint64_t done = operations();
		const double at = now();

		if (done != seen_) {
			seen_ = done;
			moved_ = at;
		} else if (moved_ > 0 && at - moved_ > stall_seconds) {
			std::printf("soak: no operation for %.0f s\n", stall_seconds);
			std::abort();
		}
		if (options_.progress && at - shown_ >= progress_seconds)
			show(at, done);
	}

	void show(double at, std::uint64_t done)
	{
		unsigned points;
		const unsigned passed = points_passed(&points);

		shown_ = at;
		std::printf("soak: %s, %.0f s, round %lu: %.4g operations (%.3g/s), %lu errors, "
			    "%lu disturbances, %lu failed calls, %u of %u steps delayed\n",
			    slab_engine(), at - start_, rounds_ + 1, static_cast<double>(done),
			    static_cast<double>(done) / (at - start_), errors(),
			    disturbances_made(), failed_calls(), passed, points);
		std::fflush(stdout);
	}

	void end_round()
	{
		conductors_leave = true;
		for (unsigned i = 0; i < options_.conductors; i++)
			pthread_join(conductors[i].thread, nullptr);
		empty_roster();
		for (struct worker &worker : workers)
			worker.drop_all();
		clear_board();
		operations_ += count_operations();
		for (struct worker &worker : workers)
			worker.done = worker.in_handler = 0;
		for (struct conductor &conductor : conductors)
			conductor.seat.done = 0;
		/* Objects with errors may be in use still, or free twice. */
		if (errors())
			return;
		destroy_shared();
		destroy_kinds();
	}

	void run_round()
	{
		begin_round();
		watch_round();
		end_round();
		rounds_++;
	}

	const struct options options_;
	const double start_;
	double moved_ = 0, shown_ = now();
	std::uint64_t operations_ = 0, seen_ = 0;
	unsigned long rounds_ = 0;
};

} /* namespace */

struct result run(const struct options &options)
{
	clear_errors();
	be_silent(options.plant != NOTHING);
	slab_set_report_handler(take_report, nullptr);
	install_handler();
	return soak(options).run();
}

} /* namespace soak */
