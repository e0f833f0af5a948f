/* SPDX-License-Identifier: MIT */
/*
 * Two NUMA nodes, made up: which node's slabs CPUs and slab_alloc_node() get, and where objects
 * return to. Each test runs a second time, with SLAB_FAKE_NODES=2. And the machine's own nodes:
 * where the pages lie.
 */
#include "../support/process.h"
#include "../support/reports.h"
#include "../support/shards.h"
#include "../support/without_thread.h"

namespace
{

class NodeTest : public testing::Test
{
protected:
	NodeTest() : owner_(8192), cache_(owner_)
	{
		pin(0);
		one_order(cache_);
		set_array_length(cache_, 2);
	}

	~NodeTest() override
	{
		for (void *obj : held_)
			slab_free(cache_, obj);
		slab_cache_shrink(cache_);
		expect_shards_right(cache_);
		EXPECT_EQ(used_in_slabs(cache_), 0u);
		unpin();
	}

	static unsigned node(const void *obj) { return slab_of(obj)->node; }

	void *keep(void *obj)
	{
		EXPECT_NE(obj, nullptr);
		if (obj)
			held_.push_back(obj);
		return obj;
	}

	void *alloc() { return keep(slab_alloc(cache_)); }

	void *alloc_of(unsigned node, int flags = 0)
	{
		return keep(slab_alloc_node(cache_, static_cast<int>(node) | flags));
	}

	std::uint64_t event(enum slab_event event) const { return stats_of(cache_).event[event]; }

	static void elsewhere(const std::function<void()> &act)
	{
		std::thread([&] {
			pin(1);
			act();
		}).join();
	}

	test_cache owner_;
	struct slab_cache *cache_;
	std::vector<void *> held_;
};

/* The CPUs are dealt out to the nodes in turn. */
class TwoNodesTest : public NodeTest
{
protected:
	void SetUp() override
	{
		if (allowed_cpus().size() < 2 || allowed_cpus()[0] % 2 == allowed_cpus()[1] % 2)
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

	static unsigned here() { return static_cast<unsigned>(allowed_cpus()[0] % 2); }

	static unsigned there() { return 1 - here(); }
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
		EXPECT_GE(stats.node_objects[n], 1u);
	}
	/* Those in arrays are of a node, too. */
	EXPECT_EQ(stats.node_objects[0] + stats.node_objects[1], used_in_slabs(cache_));
}

TEST_F(TwoNodesTest, AllocNodeTakesFromThatNode)
{
	if (!with_two_nodes())
		return;
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(node(alloc_of(there())), there());
	EXPECT_EQ(slab_of(held_.back()), slab_of(held_.front()));
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_NODE_MISMATCH), 0u);
	EXPECT_EQ(node(keep(slab_alloc_node(cache_, -1))), here());
	for (int wrong : {2, 64, -2}) {
		errno = 0;
		EXPECT_EQ(slab_alloc_node(cache_, wrong), nullptr);
		EXPECT_EQ(errno, EINVAL);
	}
}

TEST_F(TwoNodesTest, ShardsAreOfANode)
{
	if (!with_two_nodes())
		return;
	alloc_of(here());
	alloc_of(there());
	for (void *obj : held_)
		EXPECT_EQ(slab_of(obj)->shard->node, node(obj));
}

TEST_F(TwoNodesTest, ObjectsOfAnotherNodeGoToTheirSlabs)
{
	if (!with_two_nodes())
		return;
	void *far = slab_alloc_node(cache_, static_cast<int>(there()));

	ASSERT_NE(far, nullptr);
	slab_cache_shrink(cache_);
	slab_free(cache_, far);
	EXPECT_EQ(arrays_objects(cache_), 0u);
	EXPECT_EQ(used_in_slabs(cache_), 0u);
	EXPECT_EQ(event(SLAB_EVENT_FREE_OTHER_NODE), 1u);
}

TEST_F(TwoNodesTest, ASecondFreeOfAnObjectOfAnotherNodeIsReported)
{
	if (!with_two_nodes())
		return;
	void *far = alloc_of(there()), *freed = slab_alloc_node(cache_, static_cast<int>(there()));
	report_capture reports;

	slab_free(cache_, freed);
	slab_free(cache_, freed);
	EXPECT_EQ(reports.count(), 1u);
	EXPECT_NE(far, freed);
}

/* A CPU's own node serves it before a new slab does. */
TEST_F(TwoNodesTest, ANodesFreeObjectsServeItsCpus)
{
	if (!with_two_nodes())
		return;
	alloc();
	slab_cache_shrink(cache_);
	elsewhere([&] { alloc(); });
	const std::uint64_t made = event(SLAB_EVENT_ALLOC_SLAB);

	EXPECT_EQ(slab_of(alloc()), slab_of(held_[0]));
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_SLAB), made);
}

TEST_F(TwoNodesTest, StrictlyOnlyThatNodeServes)
{
	if (!with_two_nodes())
		return;
	EXPECT_EQ(node(alloc_of(there(), SLAB_NODE_STRICT)), there());
	EXPECT_EQ(node(keep(slab_alloc_node(cache_, -1 | SLAB_NODE_STRICT))), here());
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
	/* The other node has a slab with free objects, with debug flags and without. */
	for (std::uint64_t debug_flags : {UINT64_C(0), std::uint64_t{SLAB_RED_ZONE}}) {
		ASSERT_EQ(slab_cache_debug(cache_, debug_flags), 0);
		alloc_of(here());
		ASSERT_EQ(slab_set_fail("times=-1"), 0);
		errno = 0;
		EXPECT_EQ(slab_alloc_node(cache_, static_cast<int>(there()) | SLAB_NODE_STRICT),
			  nullptr);
		EXPECT_EQ(errno, ENOMEM);
		EXPECT_EQ(node(alloc_of(there())), here());
		slab_set_fail(nullptr);
	}
	for (void *obj : held_)
		slab_free(cache_, obj);
	held_.clear();
	ASSERT_EQ(slab_cache_debug(cache_, 0), 0);
}

/* No address space for a segment of our node, and free objects of the other one. */
TEST_F(TwoNodesTest, WithoutMemoryOfItsNodeACpuIsServedByAnother)
{
	if (under_asan || under_tsan)
		GTEST_SKIP() << "address space cannot be limited under a sanitizer";
	if (!with_two_nodes())
		return;
	struct rlimit limit;

	alloc();
	slab_cache_shrink(cache_);
	pin(1);
	ASSERT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
	const rlim_t before = limit.rlim_cur;

	limit.rlim_cur = address_space() + 65536;
	ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	void *obj = slab_alloc(cache_);
	limit.rlim_cur = before;
	ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	EXPECT_EQ(node(keep(obj)), here());
	EXPECT_GE(event(SLAB_EVENT_ALLOC_NODE_MISMATCH), 1u);
	pin(0);
}

TEST_F(TwoNodesTest, WithoutMemoryADebugSlabOfTheOtherNodeServes)
{
	if (!with_two_nodes())
		return;
	ASSERT_EQ(slab_cache_debug(cache_, SLAB_RED_ZONE), 0);
	alloc_of(there());
	ASSERT_EQ(slab_set_fail("times=-1"), 0);
	EXPECT_EQ(node(alloc()), there());
	slab_set_fail(nullptr);
	for (void *obj : held_)
		slab_free(cache_, obj);
	held_.clear();
	ASSERT_EQ(slab_cache_debug(cache_, 0), 0);
}

TEST_F(TwoNodesTest, AtTheLimitStrictlyTakesNothingOfTheOtherNode)
{
	if (!with_two_nodes())
		return;
	__atomic_store_n(&cache_->account.limit, std::size_t{2} << cache_->large.shift,
			 __ATOMIC_RELAXED);
	while (void *obj = slab_alloc_node(cache_, static_cast<int>(here())))
		held_.push_back(obj);
	slab_free(cache_, held_.back());
	held_.pop_back();
	errno = 0;
	EXPECT_EQ(slab_alloc_node(cache_, static_cast<int>(there()) | SLAB_NODE_STRICT), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_EQ(node(alloc_of(there())), here());
}

TEST_F(TwoNodesTest, EachNodeHasItsMagazines)
{
	if (!with_two_nodes())
		return;
	test_cache small(64);
	struct slab_cache *cache = small;
	std::vector<void *> ours = alloc_many(cache, 300);

	set_array_length(cache, 40);
	free_many(cache, ours);
	EXPECT_GT(cache->node[here()].depot.full, 0u);
	EXPECT_EQ(cache->node[there()].depot.full, 0u);
}

/* --- real nodes --------------------------------------------------------------------- */

class RealNodesTest : public NodeTest
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
			void *obj = alloc_of(n, strict);

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
		free_many(cache_, held_);
		held_.clear();
		slab_cache_shrink(cache_);
	}
}

} /* namespace */
