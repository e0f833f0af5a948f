/* SPDX-License-Identifier: MIT */
/*
 * Rates that counting finds, against what the program itself counted in the same time:
 * they are within 20 % of it, or said to be uncertain, from ten allocations in a second
 * to as many as there can be. How busy the machine is does not matter: truth and estimate
 * are of the same interval. An estimate of which the error is known to be too large is
 * not used, so the interval becomes longer until it is small.
 */
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../support/objects.h"
#include "../support/process.h"
#include "../support/without_thread.h" /* one thread at a time may count */

extern "C" {
#include "alloc/count_cost.h"
#include "registry/count_window.h"
}
using namespace slab_test;

namespace
{

constexpr std::uint64_t hour = 3600000000U; /* µs */

/* The control thread, as far as it counts. */
class ticking
{
public:
	ticking()
	{
		count_start(hour, count_measure_cost);
		thread_ = std::thread([this] {
			while (!ends_) {
				usleep(static_cast<unsigned>(count_period()));
				count_tick();
			}
		});
	}

	~ticking()
	{
		ends_ = true;
		thread_.join();
	}

private:
	std::atomic<bool> ends_{false};
	std::thread thread_;
};

/* A thread that allocates until the end, and how much. */
class worker
{
public:
	/* `work` is called again and again: how many it allocated. */
	explicit worker(std::function<std::uint64_t()> work)
	{
		thread_ = std::thread([this, work = std::move(work)] {
			while (!ends_)
				made_.fetch_add(work(), std::memory_order_relaxed);
		});
	}

	~worker()
	{
		ends_ = true;
		thread_.join();
	}

	std::uint64_t made() const
	{
		return made_.load(std::memory_order_relaxed);
	}

private:
	std::atomic<bool> ends_{false};
	std::atomic<std::uint64_t> made_{0};
	std::thread thread_;
};

using work = std::function<std::uint64_t()>;
using workers = std::vector<std::unique_ptr<worker>>;

double seconds()
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

std::uint64_t pairs(struct slab_cache *cache, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		slab_free(cache, slab_alloc(cache));
	return n;
}

/* n pairs now, and the next ones when they are due, whatever they took. */
work paced(struct slab_cache *cache, unsigned n, double every)
{
	return [cache, n, every, next = seconds()]() mutable {
		double wait;

		next += every;
		wait = next - seconds();
		if (wait > 0)
			usleep(static_cast<unsigned>(wait * 1e6));
		return pairs(cache, n);
	};
}

struct mark {
	double at;
	std::uint64_t made, counted, us, variance;
};

mark mark_now(struct slab_cache *cache, const workers &of)
{
	mark mark = {};

	for (const auto &worker : of)
		mark.made += worker->made();
	mark.at = seconds();
	const struct slab_stats stats = stats_of(cache);
	mark.counted = stats.counted;
	mark.us = stats.counted_us;
	mark.variance = stats.counted_variance;
	return mark;
}

/* Estimate through truth, and what the estimate says of itself. */
struct verdict {
	double ratio;
	bool certain; /* as slabinfo --top has it */
};

verdict judge(const mark &from, const mark &to)
{
	const double n = static_cast<double>(to.counted - from.counted);
	const double known = static_cast<double>(to.us - from.us) / 1e6;
	const double truth = static_cast<double>(to.made - from.made) / (to.at - from.at);
	const double error = std::sqrt(static_cast<double>(to.variance - from.variance));

	return {n / known / truth, known >= (to.at - from.at) / 2 && error <= 0.05 * n};
}

/* `least` allocations are made, and the estimate is certain, or still is not after that many
 * tenths of a second. */
verdict judge_some(struct slab_cache *cache, const workers &of, std::uint64_t least, int longest)
{
	const mark from = mark_now(cache, of);
	verdict verdict = {};

	for (int i = 0; i < longest || of[0]->made() == 0; i++) {
		usleep(100000);
		const mark to = mark_now(cache, of);

		verdict = judge(from, to);
		if (i >= 9 && to.made - from.made >= least && verdict.certain)
			break;
	}
	return verdict;
}

bool is_right(const verdict &verdict)
{
	return !verdict.certain || (verdict.ratio > 0.8 && verdict.ratio < 1.2);
}

/* Of a busy cache a few windows are counted: one in some hundred estimates that say they
 * are certain is not, and more while other programs come and go. */
void expect_rate(struct slab_cache *cache, const workers &of, std::uint64_t least, bool quiet)
{
	verdict verdict = {};

	usleep(300000);
	for (int tries = 0; tries < (quiet ? 1 : 4); tries++) {
		verdict = judge_some(cache, of, least, quiet ? 600 : 30);
		if (is_right(verdict))
			break;
	}
	EXPECT_TRUE(is_right(verdict)) << verdict.ratio;
	if (quiet) {
		EXPECT_TRUE(verdict.certain);
	}
	if (getenv("COUNT_VERBOSE"))
		std::printf("%s: %.3f%s\n",
			    testing::UnitTest::GetInstance()->current_test_info()->name(),
			    verdict.ratio, verdict.certain ? "" : " (not certain)");
}

constexpr bool quiet = true, busy = false;

void expect_worker(work (*make)(struct slab_cache *), std::uint64_t least, bool kind,
		   unsigned threads = 1)
{
	test_cache cache(64);
	workers of;
	const ticking ticks;

	for (unsigned i = 0; i < threads; i++)
		of.push_back(std::make_unique<worker>(make(cache)));
	expect_rate(cache, of, least, kind);
}

TEST(CountRateTest, TenInASecond)
{
	expect_worker([](struct slab_cache *cache) { return paced(cache, 1, 0.1); }, 20, quiet);
}

TEST(CountRateTest, AThousandInASecond)
{
	expect_worker([](struct slab_cache *cache) { return paced(cache, 1, 0.001); }, 500, quiet);
}

TEST(CountRateTest, FiftyThousandInBurstsOfAThousand)
{
	expect_worker([](struct slab_cache *cache) { return paced(cache, 1000, 0.02); }, 20000,
		      quiet);
}

TEST(CountRateTest, AMillionInASecond)
{
	expect_worker([](struct slab_cache *cache) { return paced(cache, 1000, 0.001); }, 100000,
		      busy);
}

TEST(CountRateTest, TenMillionInASecond)
{
	expect_worker([](struct slab_cache *cache) { return paced(cache, 20000, 0.002); }, 100000,
		      busy);
}

TEST(CountRateTest, PairsAtFullSpeed)
{
	expect_worker(
		[](struct slab_cache *cache) -> work {
			return [cache] { return pairs(cache, 1000); };
		},
		100000, busy);
}

TEST(CountRateTest, PairsOfTwoThreadsAtFullSpeed)
{
	expect_worker(
		[](struct slab_cache *cache) -> work {
			return [cache] { return pairs(cache, 1000); };
		},
		100000, busy, 2);
}

TEST(CountRateTest, ManyAllocationsThenAsManyFrees)
{
	expect_worker(
		[](struct slab_cache *cache) -> work {
			return [cache, objects = std::vector<void *>(5000)]() mutable {
				for (void *&object : objects)
					object = slab_alloc(cache);
				for (void *object : objects)
					slab_free(cache, object);
				return objects.size();
			};
		},
		100000, busy);
}

TEST(CountRateTest, BulkAllocations)
{
	expect_worker(
		[](struct slab_cache *cache) -> work {
			return [cache, objects = std::vector<void *>(64)]() mutable {
				const std::size_t n =
					slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 64, objects.data());

				slab_free_bulk(cache, n, objects.data());
				return n;
			};
		},
		100000, busy);
}

/* On for some milliseconds, then off for as long. */
TEST(CountRateTest, PhasesOfFullSpeedAndNothing)
{
	expect_worker(
		[](struct slab_cache *cache) -> work {
			return [cache] {
				const double end = seconds() + 0.007;
				std::uint64_t made = 0;

				while (seconds() < end)
					made += pairs(cache, 100);
				usleep(7000);
				return made;
			};
		},
		100000, busy);
}

TEST(CountRateTest, CachesOfVeryDifferentRatesAtOnce)
{
	test_cache fast(64), slow(128), middle(256);
	struct slab_cache *const full = fast;
	const ticking ticks;
	workers of_fast, of_slow, of_middle;

	of_fast.push_back(std::make_unique<worker>([full] { return pairs(full, 1000); }));
	of_slow.push_back(std::make_unique<worker>(paced(slow, 1, 0.1)));
	of_middle.push_back(std::make_unique<worker>(paced(middle, 1000, 0.02)));
	expect_rate(fast, of_fast, 100000, busy);
	expect_rate(slow, of_slow, 20, quiet);
	expect_rate(middle, of_middle, 20000, quiet);
}

} /* namespace */
