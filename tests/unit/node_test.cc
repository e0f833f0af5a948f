/* SPDX-License-Identifier: MIT */
/*
 * Two NUMA nodes, made up: which node's slabs CPUs and slab_alloc_node() get, and
 * where they return to. Each test runs a second time, with SLAB_FAKE_NODES=2.
 */
#include <cerrno>
#include <vector>

#include <sys/resource.h>

#include <gtest/gtest.h>

#include "../support/process.h"
#include "../support/slab_state.h"
#include "../support/whitebox.h"

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
	EXPECT_EQ(segment_of(held_[0])->node, here());
	EXPECT_EQ(segment_of(held_[1])->node, there());
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

} /* namespace */
