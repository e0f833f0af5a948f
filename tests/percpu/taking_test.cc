/* SPDX-License-Identifier: MIT */
/*
 * Slabs that are taken from CPUs, some at a time: flush_lock is given up in between, and the
 * child of a fork and an allocation at its limit find those that are on no list yet.
 */
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../support/orders.h"
#include "../support/process.h"

extern "C" {
#include "percpu/refill.h"
#include "core/slab.h"
#include "cpu_slab.h"
#include "pages/segment.h"
}

using namespace slab_test;

namespace
{

/* As many as can be allocated. */
std::size_t room(struct slab_cache *cache)
{
	std::size_t n = 0;

	while (slab_alloc(cache) != nullptr)
		n++;
	return n;
}

/*
 * A CPU owns all slabs of a cache that is at its limit, and none of the objects is in use.
 * They are taken from it by a thread that stops when it destroys the first object, at
 * which time it holds no lock.
 */
class taking_cache
{
public:
	static constexpr std::size_t slabs = 300;

	taking_cache()
	{
		struct slab_cache_args args = {};

		args.ctor = [](void *, void *) { return 0; };
		args.dtor = destroyed;
		args.arg = this;
		cache_ = slab_cache_create("taking", 4096, &args, SLAB_NO_MERGE);
		one_order(cache_);
		__atomic_store_n(&cache_->account.limit, slabs << cache_->large.shift,
				 __ATOMIC_RELAXED);
		pin(0);
		use_all();
		unpin();
		thread_ = std::thread([this] {
			takes = true;
			cache_flush(cache_);
		});
		while (!stopped_)
			std::this_thread::yield();
	}

	~taking_cache()
	{
		go_on();
		EXPECT_EQ(slab_cache_destroy(cache_), 0);
	}

	taking_cache(const taking_cache &) = delete;
	taking_cache &operator=(const taking_cache &) = delete;

	void go_on()
	{
		go_ = true;
		if (thread_.joinable())
			thread_.join();
	}

	struct slab_cache *cache() const
	{
		return cache_;
	}

	std::size_t objects() const
	{
		return slabs * cache_->large.objects;
	}

	std::size_t owned() const
	{
		std::size_t n = 0;

		cache_each_slab(
			cache_,
			[](struct slab *slab, void *arg) {
				*static_cast<std::size_t *>(arg) +=
					cpu_slab_owner(&slab->cpu) != CPU_NONE;
			},
			&n);
		return n;
	}

private:
	/* The first object of each slab first: the CPU owns all of them then. */
	void use_all()
	{
		std::vector<void *> first, others;

		while (void *obj = slab_alloc(cache_))
			(obj == slab_of(obj)->cpu.base ? first : others).push_back(obj);
		for (void *obj : first)
			slab_free(cache_, obj);
		for (void *obj : others)
			slab_free(cache_, obj);
	}

	static void destroyed(void *, void *arg)
	{
		auto &self = *static_cast<taking_cache *>(arg);

		if (!takes || self.stopped_)
			return;
		self.stopped_ = true;
		while (!self.go_)
			std::this_thread::yield();
	}

	static inline thread_local bool takes;
	struct slab_cache *cache_;
	std::atomic<bool> stopped_{false}, go_{false};
	std::thread thread_;
};

TEST(TakingTest, GivesUpTheLockBeforeAllSlabsAreListed)
{
	taking_cache taking;

	EXPECT_GT(taking.owned(), taking_cache::slabs / 2);
	taking.go_on();
	EXPECT_EQ(taking.owned(), 0u);
}

TEST(TakingTest, AChildFindsTheSlabsThatAreNotListedYet)
{
	taking_cache taking;

	EXPECT_EQ(run_in_child([&] {
			  return room(taking.cache()) == taking.objects() &&
						 slab_cache_validate(taking.cache()) == 0
					 ? 0
					 : 1;
		  }),
		  "");
}

/* One slab is being destroyed by the thread that has stopped. */
TEST(TakingTest, AnAllocationAtItsLimitFindsTheSlabsThatAreNotListedYet)
{
	taking_cache taking;
	std::vector<void *> objects;

	while (void *obj = slab_alloc(taking.cache()))
		objects.push_back(obj);
	EXPECT_EQ(objects.size(), taking.objects() - taking.cache()->large.objects);
	for (void *obj : objects)
		slab_free(taking.cache(), obj);
}

} // namespace
