/* SPDX-License-Identifier: MIT */
/* Tests of the arrays and magazines of one cache, on pinned threads. */
#pragma once

#include "../support/reports.h"
#include "../support/shards.h"
#include "../support/without_thread.h"

class PerCpuTest : public testing::Test
{
protected:
	explicit PerCpuTest(unsigned length = 20, std::size_t size = 1024)
		: owner_(size), cache_(owner_)
	{
		pin(0);
		cpu_ = allowed_cpus()[0];
		one_order(cache_);
		set_array_length(cache_, length);
	}

	~PerCpuTest() override
	{
		for (void *obj : held_)
			slab_free(cache_, obj);
		slab_cache_shrink(cache_);
		expect_shards_right(cache_);
		EXPECT_EQ(used_in_slabs(cache_), 0u) << "objects lost";
		EXPECT_EQ(slab_cache_validate(cache_), 0);
		unpin();
	}

	static bool has_rseq() { return std::strcmp(slab_engine(), "rseq") == 0; }

	static bool one_cpu() { return allowed_cpus().size() < 2; }

	struct cpu_array *array(int cpu) const { return cpu_array(cache_->own_arrays, cpu); }

	struct cpu_array *array() const { return array(cpu_); }

	unsigned count() const { return cpu_array_count(array()); }

	void *alloc()
	{
		void *obj = slab_alloc(cache_);

		EXPECT_NE(obj, nullptr);
		held_.push_back(obj);
		return obj;
	}

	std::vector<void *> alloc(std::size_t n)
	{
		std::vector<void *> objs;

		while (objs.size() < n)
			objs.push_back(alloc());
		return objs;
	}

	void free(void *obj)
	{
		held_.erase(std::find(held_.begin(), held_.end(), obj));
		slab_free(cache_, obj);
	}

	void free(const std::vector<void *> &objs)
	{
		for (void *obj : objs)
			free(obj);
	}

	static void elsewhere(const std::function<void()> &act)
	{
		std::thread([&] {
			pin(1);
			act();
		}).join();
	}

	std::uint64_t event(enum slab_event event) const { return cache_events(cache_, event); }

	/* Each object is in use, in an array or a magazine, or free in its slab. */
	void expect_counted()
	{
		EXPECT_EQ(used_in_slabs(cache_),
			  held_.size() + arrays_objects(cache_) + magazines_objects(cache_));
		expect_shards_right(cache_);
	}

	test_cache owner_;
	struct slab_cache *cache_;
	int cpu_ = 0;
	std::vector<void *> held_;
};
