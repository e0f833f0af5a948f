/* SPDX-License-Identifier: MIT */
/* What the scenes of the scheduler have: a cache whose objects have their owners' marks. */
#pragma once

#include "../support/objects.h"
#include "../support/orders.h"
#include "../support/process.h"
#include "../support/reports.h"
#include "../support/shards.h"
#include "../support/without_thread.h"
#include "schedule.h"

constexpr std::size_t object_size = 2048;
constexpr std::size_t marked_bytes = 32; /* of an object */

/* A cache with short arrays, small slabs, and marks in its objects. The threads run one at a time,
 * so the members need no lock. */
class arena
{
public:
	explicit arena(unsigned length, const struct slab_cache_args *args = nullptr,
		       std::uint64_t flags = 0)
		: owner_(object_size, flags, args), cache_(owner_)
	{
		cache_->large = cache_->small;
		cache_->min_partial = 1;
		set_array_length(cache_, length);
	}

	~arena()
	{
		for (const auto &one : in_use_)
			slab_free(cache_, one.first);
		slab_cache_shrink(cache_);
		EXPECT_EQ(reports.count(), expected_reports) << reports.text();
		for (const enum slab_problem problem : reports.problems())
			EXPECT_TRUE(problem == expected_problem || problem == other_problem)
				<< problem;
		EXPECT_EQ(arrays_objects(cache_), 0u);
		EXPECT_EQ(magazines_objects(cache_), 0u);
		EXPECT_EQ(used_in_slabs(cache_), held_back) << "objects lost";
		expect_shards_right(cache_);
		EXPECT_EQ(slab_cache_validate(cache_), 0);
	}

	struct slab_cache *cache() const { return cache_; }

	void *alloc()
	{
		if (steps)
			schedule_steps();
		void *obj = slab_alloc(cache_);

		EXPECT_TRUE(obj || may_fail);
		if (obj)
			adopt(obj);
		return obj;
	}

	void adopt(void *obj)
	{
		const std::uint64_t mark = ++marks_;

		EXPECT_TRUE(in_use_.emplace(obj, mark).second) << "handed out twice";
		fill(obj, marked_bytes, mark);
	}

	void give_up(void *obj)
	{
		const auto found = in_use_.find(obj);

		ASSERT_NE(found, in_use_.end());
		EXPECT_TRUE(intact(obj, marked_bytes, found->second))
			<< "another thread wrote to it";
		in_use_.erase(found);
	}

	void free(void *obj)
	{
		give_up(obj);
		if (steps)
			schedule_steps();
		slab_free(cache_, obj);
		EXPECT_LE(arrays_objects(cache_), cache_->array_most * cpu_possible());
	}

	std::size_t in_use() const { return in_use_.size(); }

	/* Allocate, and free what this or another thread allocated. */
	void use(unsigned steps, unsigned most = 40)
	{
		for (unsigned i = 0; i < steps; i++) {
			if (left_.size() < most && schedule_random(2)) {
				if (void *obj = alloc())
					left_.push_back(obj);
			} else if (!left_.empty()) {
				std::swap(
					left_[schedule_random(static_cast<unsigned>(left_.size()))],
					left_.back());
				void *obj = left_.back();

				left_.pop_back();
				schedule_point();
				free(obj);
			}
		}
	}

	report_capture reports;
	unsigned expected_reports = 0;
	enum slab_problem expected_problem = SLAB_PROBLEM_DOUBLE_FREE;
	enum slab_problem other_problem = SLAB_PROBLEM_DOUBLE_FREE; /* by the order of threads */
	bool may_fail = false;
	bool steps = false; /* through the sections of its calls */
	unsigned held_back = 0; /* objects of the reserve, which are in use to their slabs */

private:
	test_cache owner_;
	struct slab_cache *cache_;
	std::map<void *, std::uint64_t> in_use_;
	std::vector<void *> left_; /* in use, and no thread's: any thread frees them */
	std::uint64_t marks_ = 0;
};

inline std::function<void()> repeat(unsigned times, std::function<void()> act)
{
	return [times, act] {
		for (unsigned i = 0; i < times; i++)
			act();
	};
}

inline unsigned objects_held(const struct slab_cache *cache)
{
	return cpu_array_count(cpu_array(cache_own_arrays(cache), 0));
}

constexpr unsigned array_length = 40;

/* The array is full, and so are some magazines. Returns objects in use. */
inline std::vector<void *> fill_magazines(arena &all, unsigned full)
{
	struct slab_cache *cache = all.cache();
	std::vector<void *> objs;

	for (unsigned i = 0; i < array_length * 4; i++)
		objs.push_back(all.alloc());
	while (cache->node[0].depot.full < full || objects_held(cache) < array_length) {
		all.free(objs.back());
		objs.pop_back();
	}
	return objs;
}

/* A magazine is full, and the array is empty. */
inline void fill_a_magazine(arena &all)
{
	fill_magazines(all, 1);
	while (objects_held(all.cache()))
		all.alloc();
}
