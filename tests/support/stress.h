/* SPDX-License-Identifier: MIT */
/* Stress tests under the ownership oracle: workers, and helpers that disturb them. */
#pragma once

#include "process.h"
#include "reports.h"
#include "worker.h"

/* How long each test works. */
inline std::chrono::milliseconds stress_time()
{
	const char *seconds = std::getenv("SLAB_STRESS_SECONDS");
	const double wanted = seconds ? std::atof(seconds) : 2;

	return std::chrono::milliseconds(static_cast<long>(wanted * 1000));
}

/* Workers in an arena, and helpers, until the time is over or something went wrong. */
class ArenaTest : public testing::Test
{
protected:
	explicit ArenaTest(const std::vector<std::size_t> &sizes) : arena_(sizes) {}

	/* Start a thread that works; `before` is run in it first. */
	void add_worker(std::function<void()> before = nullptr, std::size_t most = 300)
	{
		const unsigned seed = ++workers_;

		threads_.emplace_back([this, before, seed, most] {
			join_the_running();
			if (before)
				before();
			worker self(arena_, seed, most);
			while (!stop_) {
				for (int i = 0; i < 64; i++)
					self.step();
			}
			leave_the_running();
		});
	}

	/* Start a thread that does `act` over and over; `before` is run in it first. */
	void add_helper(std::function<void()> act, std::function<void()> before = nullptr)
	{
		threads_.emplace_back([this, act, before] {
			if (before)
				before();
			while (!stop_)
				act();
		});
	}

	/* Start a thread that moves the workers from CPU to CPU. */
	void migrate_workers(unsigned seed)
	{
		add_helper([this, random = std::mt19937(seed)]() mutable {
			for (pid_t tid : running())
				pin(random(), tid);
		});
	}

	/* Let it all run until the time is over and `enough` holds, or something is wrong, and end
	 * it. */
	void run_threads(const std::function<bool()> &enough = [] { return true; })
	{
		const auto end = std::chrono::steady_clock::now() + stress_time();

		while ((std::chrono::steady_clock::now() < end || !enough()) && arena_.healthy() &&
		       reports_.count() == 0)
			std::this_thread::sleep_for(std::chrono::milliseconds(20));
		stop_ = true;
		join_all(threads_);
	}

	/* The system's ids of the workers that are running. */
	std::vector<pid_t> running()
	{
		std::lock_guard<std::mutex> guard(running_lock_);

		return running_;
	}

	arena arena_;
	report_capture reports_;

private:
	void join_the_running()
	{
		std::lock_guard<std::mutex> guard(running_lock_);

		running_.push_back(thread_id());
	}

	void leave_the_running()
	{
		std::lock_guard<std::mutex> guard(running_lock_);

		running_.erase(std::find(running_.begin(), running_.end(), thread_id()));
	}

	std::atomic<bool> stop_{false};
	std::mutex running_lock_;
	std::vector<pid_t> running_;
	std::vector<std::thread> threads_;
	unsigned workers_ = 0;
};
