/* SPDX-License-Identifier: MIT */
/*
 * Two NUMA nodes, made up: which node's slabs CPUs and slab_alloc_node() get, and
 * where they return to. Each test runs a second time, with SLAB_FAKE_NODES=2. And the
 * machine's own nodes: where the pages lie.
 */
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <slab/debug.h>

#include "../support/process.h"
#include "../support/slab_state.h"

extern "C" {
#include "core/cache.h"
#include "pages/os.h"
#include "pages/segment.h"
#include "pages/topology.h"
}

using namespace slab_test;

namespace
{

/* The CPUs are dealt out to the nodes in turn. */
class TwoNodesTest : public SlabStateTest
{
protected:
	void SetUp() override
	{
		if (one_cpu() || allowed_cpus()[0] % 2 == allowed_cpus()[1] % 2)
			GTEST_SKIP() << "needs an even and an odd CPU";
	}

	/* The test runs a second time, with two nodes; true: this is it. */
	static bool with_two_nodes()
	{
		if (running_again()) {
			EXPECT_EQ(topology_nodes(), 2u);
			return true;
		}
		const second_run again = run_again({"SLAB_FAKE_NODES=2"});

		EXPECT_EQ(again.failure, "") << again.output;
		return false;
	}

	static unsigned node(const void *obj)
	{
		return slab_of(obj)->node;
	}

	unsigned here() const
	{
		return static_cast<unsigned>(cpu_ % 2);
	}

	unsigned there() const
	{
		return 1 - here();
	}
};

TEST_F(TwoNodesTest, SlabsAreOfTheNodeOfTheCpuThatAllocates)
{
	if (!with_two_nodes())
		return;
	EXPECT_EQ(node(alloc()), here());
	elsewhere([&] { EXPECT_EQ(node(alloc()), there()); });
	const struct slab_stats stats = stats_of(cache_);

	EXPECT_EQ(stats.nodes, 2u);
	for (unsigned n : {0u, 1u}) {
		EXPECT_EQ(stats.node_slabs[n], 1u);
		EXPECT_EQ(stats.node_objects[n], 1u);
	}
	EXPECT_EQ(slab_of(held_[0])->node, here());
	EXPECT_EQ(slab_of(held_[1])->node, there());
}

TEST_F(TwoNodesTest, AllocNodeTakesFromThatNode)
{
	if (!with_two_nodes())
		return;
	for (int i = 0; i < 5; i++) {
		held_.push_back(slab_alloc_node(cache_, static_cast<int>(there())));
		check();
		EXPECT_EQ(node(held_.back()), there());
		EXPECT_EQ(slab_of(held_.back()), slab_of(held_.front()));
	}
	EXPECT_EQ(state(held_.back()), at::node);
	EXPECT_EQ(stats_of(cache_).node_partial[there()], 1u);
	EXPECT_EQ(stats_of(cache_).node_partial[here()], 0u);
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_NODE_MISMATCH), 0u);
	held_.push_back(slab_alloc_node(cache_, -1));
	EXPECT_EQ(node(held_.back()), here());
	for (int wrong : {2, 64, -2}) {
		errno = 0;
		EXPECT_EQ(slab_alloc_node(cache_, wrong), nullptr);
		EXPECT_EQ(errno, EINVAL);
	}
}

TEST_F(TwoNodesTest, SlabsReturnToTheirOwnNode)
{
	if (!with_two_nodes())
		return;
	const std::vector<void *> ours = alloc(2);

	elsewhere([&] { alloc(2); });
	slab_cache_shrink(cache_);
	check();
	EXPECT_EQ(stats_of(cache_).node_partial[0], 1u);
	EXPECT_EQ(stats_of(cache_).node_partial[1], 1u);
	for (void *obj : held_)
		EXPECT_EQ(state(obj), at::node);
	/* A CPU's own node serves it before a fresh slab does. */
	const std::uint64_t made = event(SLAB_EVENT_ALLOC_SLAB);

	EXPECT_EQ(slab_of(alloc()), slab_of(ours[0]));
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_SLAB), made);
}

/* No address space for a segment of our node, and slabs on the other one's list. */
TEST_F(TwoNodesTest, WithoutMemoryOfItsNodeACpuIsServedByAnother)
{
	if (under_asan || under_tsan)
		GTEST_SKIP() << "address space cannot be limited under a sanitizer";
	if (!with_two_nodes())
		return;
	struct rlimit limit;

	alloc(2);
	slab_cache_shrink(cache_);
	check();
	pin(1);
	ASSERT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
	const rlim_t before = limit.rlim_cur;

	limit.rlim_cur = address_space() + 65536;
	ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	held_.push_back(slab_alloc_node(cache_, static_cast<int>(there())));
	held_.push_back(slab_alloc(cache_));
	limit.rlim_cur = before;
	ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	check();
	for (int i : {2, 3}) {
		ASSERT_NE(held_[i], nullptr);
		EXPECT_EQ(node(held_[i]), here());
	}
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_NODE_MISMATCH), 2u);
	pin(0);
}

TEST_F(TwoNodesTest, StrictlyOnlyThatNodeServes)
{
	if (!with_two_nodes())
		return;
	const int strict = static_cast<int>(there()) | SLAB_NODE_STRICT;

	held_.push_back(slab_alloc_node(cache_, strict));
	EXPECT_EQ(node(held_.back()), there());
	held_.push_back(slab_alloc_node(cache_, -1 | SLAB_NODE_STRICT));
	EXPECT_EQ(node(held_.back()), here());
	for (int wrong : {2, 64}) {
		errno = 0;
		EXPECT_EQ(slab_alloc_node(cache_, wrong | SLAB_NODE_STRICT), nullptr);
		EXPECT_EQ(errno, EINVAL);
	}
}

TEST_F(TwoNodesTest, StrictlyIsNotAtAllWhenTheNodeHasNoMemory)
{
	if (!with_two_nodes())
		return;
	const int wanted = static_cast<int>(there());

	/* The other node has a partial slab, with debug flags and without. */
	for (std::uint64_t debug_flags : {UINT64_C(0), std::uint64_t{SLAB_RED_ZONE}}) {
		ASSERT_EQ(slab_cache_debug(cache_, debug_flags), 0);
		held_.push_back(slab_alloc_node(cache_, static_cast<int>(here())));
		ASSERT_EQ(slab_set_fail("times=-1"), 0);
		errno = 0;
		EXPECT_EQ(slab_alloc_node(cache_, wanted | SLAB_NODE_STRICT), nullptr);
		EXPECT_EQ(errno, ENOMEM);
		held_.push_back(slab_alloc_node(cache_, wanted));
		slab_set_fail(nullptr);
		ASSERT_NE(held_.back(), nullptr);
		EXPECT_EQ(node(held_.back()), here());
	}
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_NODE_MISMATCH), 1u);
	for (void *obj : held_)
		slab_free(cache_, obj);
	held_.clear();
	ASSERT_EQ(slab_cache_debug(cache_, 0), 0);
}

TEST_F(TwoNodesTest, WithoutMemoryADebugSlabOfTheOtherNodeServes)
{
	if (!with_two_nodes())
		return;
	ASSERT_EQ(slab_cache_debug(cache_, SLAB_RED_ZONE), 0);
	held_.push_back(slab_alloc_node(cache_, static_cast<int>(there())));
	ASSERT_EQ(slab_set_fail("times=-1"), 0);
	held_.push_back(slab_alloc(cache_));
	slab_set_fail(nullptr);
	ASSERT_NE(held_.back(), nullptr);
	EXPECT_EQ(node(held_.back()), there());
	for (void *obj : held_)
		slab_free(cache_, obj);
	held_.clear();
	ASSERT_EQ(slab_cache_debug(cache_, 0), 0);
}

/* It could not use one of the other node; so that is left where others find it. */
TEST_F(TwoNodesTest, AtTheLimitStrictlyTakesNoSlabOfTheOtherNode)
{
	if (!with_two_nodes())
		return;
	const int strict = static_cast<int>(there()) | SLAB_NODE_STRICT;
	struct cache_node &node = cache_->node[here()];

	__atomic_store_n(&cache_->account.limit, std::size_t{2} << cache_->large.shift,
			 __ATOMIC_RELAXED);
	while (void *obj = slab_alloc_node(cache_, static_cast<int>(here())))
		held_.push_back(obj);
	slab_free(cache_, held_.back());
	held_.pop_back();
	slab_cache_shrink(cache_);
	ASSERT_EQ(node.partial.count, 1u);
	errno = 0;
	EXPECT_EQ(slab_alloc_node(cache_, strict), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_EQ(node.partial.count, 1u);
	held_.push_back(slab_alloc_node(cache_, static_cast<int>(there())));
	EXPECT_NE(held_.back(), nullptr);
}

TEST_F(TwoNodesTest, NumbersOfANodeAreOfItsSlabsOnAnyCpu)
{
	if (!with_two_nodes())
		return;
	const std::vector<void *> ours = alloc_full_slab();

	/* The other node's CPU comes to own a slab of ours, and allocates from it. */
	elsewhere([&] {
		for (std::size_t i = 0; i < 3; i++)
			free(ours[i]);
		EXPECT_EQ(node(alloc()), here());
	});
	const struct slab_stats stats = stats_of(cache_);

	EXPECT_EQ(stats.node_slabs[here()], 2u);
	EXPECT_EQ(stats.node_slabs[there()], 0u);
	EXPECT_EQ(stats.node_objects[here()], held_.size());
	EXPECT_EQ(stats.node_objects[there()], 0u);
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_NODE_MISMATCH), 0u) << "no slab was taken from a node";
	slab_cache_shrink(cache_);
	EXPECT_EQ(stats_of(cache_).node_partial[here()], 2u);
	EXPECT_EQ(stats_of(cache_).node_partial[there()], 0u);
}

/* Partial slabs of the other node, each with one free object, that are taken singly. */
class DefragRatioTest : public TwoNodesTest
{
protected:
	static constexpr unsigned slabs = 20;

	void partial_slabs_there()
	{
		elsewhere([&] {
			const std::vector<void *> objs = alloc(slabs * cache_->large.objects);

			for (std::size_t i = 0; i < objs.size(); i += cache_->large.objects)
				free(objs[i]);
		});
		ASSERT_EQ(slab_stat_write(cache_, "cpu_partial", 0), 0);
		slab_cache_shrink(cache_);
		made_ = event(SLAB_EVENT_ALLOC_SLAB);
		ASSERT_EQ(stats_of(cache_).node_partial[there()], slabs);
	}

	std::uint64_t fresh()
	{
		return event(SLAB_EVENT_ALLOC_SLAB) - made_;
	}

	std::uint64_t others()
	{
		return event(SLAB_EVENT_ALLOC_NODE_MISMATCH);
	}

private:
	std::uint64_t made_ = 0;
};

TEST_F(DefragRatioTest, ByDefaultAnotherNodesSlabsServeWhileItHasPlenty)
{
	if (!with_two_nodes())
		return;
	partial_slabs_there();
	const unsigned plenty = slabs - cache_->min_partial;

	alloc(plenty);
	EXPECT_EQ(fresh(), 0u);
	EXPECT_EQ(others(), plenty);
	EXPECT_EQ(node(held_.back()), there());
	EXPECT_EQ(node(alloc()), here());
	EXPECT_EQ(fresh(), 1u);
	EXPECT_EQ(others(), plenty);
	EXPECT_EQ(stats_of(cache_).node_partial[there()], cache_->min_partial);
}

TEST_F(DefragRatioTest, ZeroIsNever)
{
	if (!with_two_nodes())
		return;
	partial_slabs_there();
	ASSERT_EQ(slab_stat_write(cache_, "remote_node_defrag_ratio", 0), 0);
	alloc(3 * cache_->large.objects);
	EXPECT_EQ(fresh(), 3u);
	EXPECT_EQ(others(), 0u);
}

TEST_F(DefragRatioTest, FiftyIsEverySecondTime)
{
	if (!with_two_nodes())
		return;
	partial_slabs_there();
	ASSERT_EQ(slab_stat_write(cache_, "remote_node_defrag_ratio", 50), 0);
	alloc(4 * (cache_->large.objects + 1));
	EXPECT_EQ(fresh(), 4u);
	EXPECT_EQ(others(), 4u);
}

TEST_F(DefragRatioTest, ItIsAnAttribute)
{
	std::uint64_t value = 0;

	EXPECT_EQ(slab_stat_read(cache_, "remote_node_defrag_ratio", &value), 0);
	EXPECT_EQ(value, 100u);
	EXPECT_EQ(slab_stat_write(cache_, "remote_node_defrag_ratio", 101), -ERANGE);
	EXPECT_EQ(slab_stat_write(cache_, "remote_node_defrag_ratio", 7), 0);
	EXPECT_EQ(slab_stat_read(cache_, "remote_node_defrag_ratio", &value), 0);
	EXPECT_EQ(value, 7u);
}

/* --- real nodes --------------------------------------------------------------------- */

class RealNodesTest : public SlabStateTest
{
protected:
	/* Where the first page of an object lies; -1: the system does not report it. */
	static int node_of_page(void *obj)
	{
		void *page = reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(obj) &
						      ~std::uintptr_t{4095});
		int status = -1;

		if (syscall(SYS_move_pages, 0, 1, &page, nullptr, &status, 0) != 0)
			return -1;
		return status;
	}
};

TEST_F(RealNodesTest, ObjectsLieOnTheRequestedNode)
{
	for (unsigned n = 0; n < topology_nodes(); n++)
		for (int strict : {0, SLAB_NODE_STRICT}) {
			void *obj = slab_alloc_node(cache_, static_cast<int>(n) | strict);

			ASSERT_NE(obj, nullptr);
			held_.push_back(obj);
			std::memset(obj, 1, 8192);
			if (node_of_page(obj) < 0)
				GTEST_SKIP() << "the system does not report where pages lie";
			EXPECT_EQ(node_of_page(obj), static_cast<int>(n));
			EXPECT_TRUE(os_lies_on(obj, 8192, n));
			EXPECT_FALSE(os_lies_on(obj, 8192, n + 1));
		}
}

TEST_F(RealNodesTest, ObjectsLieOnTheNodeOfTheCpuThatAllocates)
{
	for (std::size_t i = 0; i < allowed_cpus().size(); i++) {
		std::thread([&] {
			pin(i);
			for (unsigned n = 0; n < 3 * cache_->large.objects; n++)
				std::memset(alloc(), 1, 8192);
		}).join();
		if (node_of_page(held_.back()) < 0)
			GTEST_SKIP() << "the system does not report where pages lie";
		for (void *obj : held_)
			EXPECT_EQ(node_of_page(obj),
				  static_cast<int>(topology_node_of_cpu(allowed_cpus()[i])));
		free_all(held_);
		slab_cache_shrink(cache_);
	}
}

class DenseTest : public SlabStateTest
{
};

/* Objects that move go to the first slab that has any, not to an empty one before it. */
TEST_F(DenseTest, EmptySlabsAtTheBeginningOfTheListAreSkipped)
{
	const std::vector<void *> first = alloc_slab(), second = alloc_slab();
	struct slab *taken = nullptr;
	std::uint16_t offset8 = 0;

	free_all({first.back(), second[0], second[1]});
	slab_cache_shrink(cache_);
	ASSERT_EQ(cache_->node[slab_of(first[0])->node].partial.slabs.first, slab_of(first[0]));
	free_all({first.begin(), first.end() - 1});
	free(second[2]); /* which returns the batch of the others */
	ASSERT_EQ(slab_used(slab_of(first[0])), 0u);
	ASSERT_TRUE(is_on_node(slab_of(first[0])));
	ASSERT_EQ(node_take_dense(cache_, slab_of(first[0])->node, 1, &offset8, &taken), 1u);
	EXPECT_EQ(taken, slab_of(second[3]));
	held_.push_back(cpu_slab_object(&taken->cpu, offset8));
	slab_cache_shrink(cache_);
}

} /* namespace */
