/* SPDX-License-Identifier: MIT */
/*
 * Movable objects: what slab_cache_defrag() moves, what it leaves alone, and what is
 * left afterwards. What goes on beside it is defrag_stress_test.cc's.
 */
#include "../support/cpus.h"
#include "../support/movable.h"
#include "../support/process.h"

namespace
{

/* Do something in another thread, from within a callback. */
template <typename Act> void elsewhere(Act act)
{
	std::thread(act).join();
}

std::size_t changed(const std::vector<entry *> &before, const std::vector<entry *> &after)
{
	std::size_t n = 0;

	for (std::size_t i = 0; i < before.size(); i++)
		n += before[i] != after[i];
	return n;
}

/* --- the goal -------------------------------------------------------------------- */

TEST(DefragTest, ATenthThatSurvivesAtRandomIsBroughtBackToItsDenseSize)
{
	directory dir(20000);
	const std::size_t left = dir.thin_out(10);
	const std::vector<entry *> before = dir.places();

	ASSERT_GE(dir.slabs(), 9 * dir.dense(left)) << "nothing to bring together";

	const long moved = slab_cache_defrag(dir.cache());

	dir.expect_dense(left);
	EXPECT_EQ(moved, static_cast<long>(changed(before, dir.places())));
	EXPECT_EQ(stats_of(dir.cache()).moved, static_cast<std::uint64_t>(moved));
	EXPECT_EQ(stats_of(dir.cache()).objects, left);
	dir.verify_all();
	EXPECT_EQ(slab_cache_validate(dir.cache()), 0);
}

TEST(DefragTest, NoSlabIsMadeForIt)
{
	directory dir(5000);

	dir.thin_out(3);
	const std::uint64_t made = stats_of(dir.cache()).event[SLAB_EVENT_ALLOC_SLAB];

	EXPECT_GT(slab_cache_defrag(dir.cache()), 0);
	EXPECT_EQ(stats_of(dir.cache()).event[SLAB_EVENT_ALLOC_SLAB], made);
}

TEST(DefragTest, TheDensestSlabsAreTheOnesThatStay)
{
	directory dir(2000);
	const std::size_t room = stats_of(dir.cache()).objects_per_slab;

	for (std::size_t key = 0; key < dir.keys(); key++)
		ASSERT_TRUE(dir.insert(key));
	/* All of the first half of the slabs but one entry; one entry of each other. */
	for (std::size_t key = 0; key < dir.keys(); key++)
		if ((key < 1000) == (key % room == 0))
			dir.remove(key);

	const std::vector<entry *> before = dir.places();

	ASSERT_GT(slab_cache_defrag(dir.cache()), 0);
	const std::vector<entry *> after = dir.places();

	EXPECT_TRUE(std::equal(before.begin(), before.begin() + 900, after.begin()));
	EXPECT_GE(changed(before, after), 10u);
}

TEST(DefragTest, WhatIsDenseIsLeftAlone)
{
	const on_one_cpu here; /* one CPU leaves one slab that is not full */
	directory dir(3000);

	for (std::size_t key = 0; key < dir.keys(); key++)
		ASSERT_TRUE(dir.insert(key));
	const std::vector<entry *> before = dir.places();

	EXPECT_EQ(slab_cache_defrag(dir.cache()), 0);
	EXPECT_EQ(changed(before, dir.places()), 0u);
}

TEST(DefragTest, ASecondTimeFindsNothingToDo)
{
	directory dir(5000);

	dir.thin_out(10);
	EXPECT_GT(slab_cache_defrag(dir.cache()), 0);
	EXPECT_EQ(slab_cache_defrag(dir.cache()), 0);
}

TEST(DefragTest, AnEmptyCacheHasNothingToMove)
{
	directory dir(1);

	EXPECT_EQ(slab_cache_defrag(dir.cache()), 0);
	EXPECT_EQ(dir.slabs(), 0u);
}

TEST(DefragTest, EmptySlabsGoEvenIfNothingMoves)
{
	directory dir(3000);

	for (std::size_t key = 0; key < dir.keys(); key++)
		dir.insert(key);
	for (std::size_t key = 0; key < dir.keys(); key++)
		dir.remove(key);
	EXPECT_EQ(slab_cache_defrag(dir.cache()), 0);
	EXPECT_EQ(dir.slabs(), 0u);
}

/* --- what is not to be moved ------------------------------------------------------- */

TEST(DefragTest, ObjectsInUseStayWhereTheyAre)
{
	directory dir(5000);
	std::vector<entry *> used;

	dir.thin_out(10);
	for (std::size_t key = 0; key < dir.keys(); key += 7)
		if (entry *here = dir.get(key))
			used.push_back(here);
	ASSERT_GT(used.size(), 10u);
	EXPECT_GT(slab_cache_defrag(dir.cache()), 0);
	for (entry *here : used) {
		EXPECT_EQ(dir.at(here->key), here);
		dir.verify(here, here->key);
		dir.put(here);
	}
	dir.verify_all();
}

TEST(DefragTest, SlabsWithAnObjectThatStaysAreFilled)
{
	directory dir(5000);
	const std::size_t left = dir.thin_out(10);
	std::size_t stay = 0;

	/* One of a few slabs only: they count among the dense ones then. */
	dir.refuse = [&](const entry &here) {
		stay += here.key % 500 == 0;
		return here.key % 500 == 0;
	};
	EXPECT_GT(slab_cache_defrag(dir.cache()), 0);
	EXPECT_LE(dir.slabs(), dir.dense(left) + stay);
	dir.verify_all();
}

void expect_nothing_moves(directory &dir)
{
	const std::vector<entry *> before = dir.places();
	const struct slab_stats stats = stats_of(dir.cache());

	EXPECT_EQ(slab_cache_defrag(dir.cache()), 0);
	EXPECT_EQ(dir.places(), before);
	EXPECT_EQ(stats_of(dir.cache()).slabs, stats.slabs);
	EXPECT_EQ(stats_of(dir.cache()).objects, stats.objects);
}

TEST(DefragTest, WhenAllAreRefusedNothingMoves)
{
	directory dir(5000);

	dir.thin_out(10);
	dir.refuse = [](const entry &) { return true; };
	expect_nothing_moves(dir);
	EXPECT_EQ(stats_of(dir.cache()).moved, 0u);
}

TEST(DefragTest, WhenAllMigrationsFailNothingMoves)
{
	directory dir(5000);

	dir.thin_out(10);
	dir.fail = [](const entry &) { return true; };
	expect_nothing_moves(dir);
}

TEST(DefragTest, AMigrationThatFailsLeavesTheObject)
{
	directory dir(5000);
	std::size_t failures = 0;

	dir.thin_out(10);
	dir.fail = [&](const entry &here) {
		failures += here.key % 3 == 0;
		return here.key % 3 == 0;
	};
	const std::vector<entry *> before = dir.places();
	const std::uint64_t objects = stats_of(dir.cache()).objects;

	EXPECT_GT(slab_cache_defrag(dir.cache()), 0);
	ASSERT_GT(failures, 10u);
	for (std::size_t key = 0; key < dir.keys(); key += 3)
		ASSERT_EQ(dir.at(key), before[key]);
	EXPECT_EQ(stats_of(dir.cache()).objects, objects);
	dir.verify_all();
}

TEST(DefragTest, ObjectsThatAreFreedMeanwhileAreNotMoved)
{
	directory dir(5000);
	std::size_t left = dir.thin_out(10), next = 0;

	/* Ahead of every object that is requested, two others go. */
	dir.before = [&] {
		elsewhere([&] {
			for (int n = 0; n < 2; n++, next += 37)
				left -= dir.remove(next % dir.keys());
		});
	};
	EXPECT_GT(slab_cache_defrag(dir.cache()), 0);
	EXPECT_EQ(stats_of(dir.cache()).objects, left);
	dir.verify_all();
}

TEST(DefragTest, SlabsWithDebugFlagsAreLeftAlone)
{
	directory dir(3000, SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE);

	dir.thin_out(10);
	const std::vector<entry *> before = dir.places();

	EXPECT_EQ(slab_cache_defrag(dir.cache()), 0);
	EXPECT_EQ(dir.places(), before);
}

TEST(DefragTest, DebugFlagsMayBeSwitchedOnMeanwhile)
{
	directory dir(5000);
	const std::size_t left = dir.thin_out(10);
	std::size_t asked = 0;

	dir.before = [&] {
		if (++asked == left / 3)
			elsewhere([&] { slab_cache_debug(dir.cache(), SLAB_RED_ZONE); });
	};
	EXPECT_GT(slab_cache_defrag(dir.cache()), 0);
	ASSERT_GE(asked, left / 3);
	EXPECT_EQ(stats_of(dir.cache()).objects, left);
	dir.verify_all();
	EXPECT_EQ(slab_cache_validate(dir.cache()), 0);
	EXPECT_EQ(slab_cache_debug(dir.cache(), 0), 0);
	EXPECT_GE(slab_cache_defrag(dir.cache()), 0);
	dir.expect_dense(left);
}

/* --- others meanwhile ----------------------------------------------------------------- */

/* Sparse slabs serve when the dense ones of their node are full: no allocation there needs a
 * fresh one. */
TEST(DefragTest, AllocationsMeanwhileNeedNoFreshSlab)
{
	pin(0);
	directory dir(5000);
	const std::size_t left = dir.thin_out(10);
	const struct slab_stats stats = stats_of(dir.cache());
	std::vector<void *> taken;

	/* All but what is isolated, one slab and a few objects; on the same CPU. */
	const std::size_t most = stats.total_objects - left - 2 * stats.objects_per_slab;

	dir.before = [&] {
		if (taken.empty())
			elsewhere([&] { taken = alloc_many(dir.cache(), most); });
	};
	slab_cache_defrag(dir.cache());
	EXPECT_EQ(stats_of(dir.cache()).event[SLAB_EVENT_ALLOC_SLAB],
		  stats.event[SLAB_EVENT_ALLOC_SLAB]);
	dir.verify_all();
	free_many(dir.cache(), taken);
	unpin();
}

TEST(DefragTest, OthersMayTakeAllSlabsMeanwhile)
{
	for (int what = 0; what < 3; what++) {
		directory dir(5000);
		const std::size_t left = dir.thin_out(10);
		unsigned asked = 0;

		dir.before = [&] {
			if (++asked % 10 == 0)
				elsewhere([&] {
					what == 0   ? (void)slab_cache_shrink(dir.cache())
					: what == 1 ? (void)slab_cache_validate(dir.cache())
						    : (void)slab_stat_write(dir.cache(),
									    "min_partial", 0);
				});
		};
		EXPECT_GE(slab_cache_defrag(dir.cache()), 0) << what;
		dir.before = [] {};
		EXPECT_EQ(stats_of(dir.cache()).objects, left) << what;
		EXPECT_GE(slab_cache_defrag(dir.cache()), 0) << what;
		dir.expect_dense(left);
		dir.verify_all();
	}
}

TEST(DefragTest, OneAtATimeMovesTheObjectsOfACache)
{
	directory dir(3000);
	long second = 0;

	dir.thin_out(10);
	dir.before = [&] {
		if (!second)
			elsewhere([&] { second = slab_cache_defrag(dir.cache()); });
	};
	EXPECT_GT(slab_cache_defrag(dir.cache()), 0);
	EXPECT_EQ(second, -EBUSY);
}

TEST(DefragTest, ItNeedsNoMemory)
{
	directory dir(5000);
	const std::size_t left = dir.thin_out(10);

	ASSERT_EQ(slab_set_fail("times=-1"), 0);
	const long moved = slab_cache_defrag(dir.cache());

	slab_set_fail(nullptr);
	EXPECT_GT(moved, 0);
	dir.expect_dense(left);
}

TEST(DefragTest, ACacheAtItsLimitIsHelpedToo)
{
	directory dir(5000, 0, nullptr, 64 << 20);
	const std::size_t left = dir.thin_out(10);

	ASSERT_EQ(slab_stat_write(dir.cache(), "limit", 65536), 0);
	EXPECT_GT(slab_cache_defrag(dir.cache()), 0);
	dir.expect_dense(left);
}

/* --- nodes ------------------------------------------------------------------------------ */

TEST(DefragTest, ObjectsStayOnTheirNode)
{
	if (!in_environment({"SLAB_FAKE_NODES=2"}))
		return;

	directory dir(6000);
	const auto node_of = [](const entry *here) { return here ? slab_of(here)->node : 9; };
	std::vector<unsigned> nodes;

	if (allowed_cpus().size() > 1)
		elsewhere([&] {
			pin(1);
			for (std::size_t key = 0; key < 3000; key++)
				dir.insert(key);
			for (std::size_t key = 0; key < 3000; key++)
				if (key % 10)
					dir.remove(key);
		});
	pin(0);
	for (std::size_t key = 3000; key < 6000; key++)
		dir.insert(key);
	for (std::size_t key = 3000; key < 6000; key++)
		if (key % 10)
			dir.remove(key);
	for (std::size_t key = 0; key < dir.keys(); key++)
		nodes.push_back(node_of(dir.at(key)));
	EXPECT_GT(slab_cache_defrag(dir.cache()), 0);
	for (std::size_t key = 0; key < dir.keys(); key++)
		ASSERT_EQ(node_of(dir.at(key)), nodes[key]) << key;
	EXPECT_LE(dir.slabs(), 2 * dir.dense(300));
	unpin();
}

/* --- the socket ---------------------------------------------------------------------------- */

std::string answer(const std::string &request)
{
	struct slab_json reply = {};

	slab_control_answer(&reply, request.c_str(), true);
	const std::string text(reply.text, reply.len);

	slab_json_free(&reply);
	return text;
}

TEST(DefragTest, ShrinkOverTheSocketMovesObjectsFirst)
{
	directory dir(5000);
	const std::size_t left = dir.thin_out(10);
	const std::uint64_t slabs = dir.slabs();
	const std::string got = answer("slab/2 shrink " + dir.cache().name());
	const struct slab_stats stats = stats_of(dir.cache());

	ASSERT_GT(stats.moved, 0u);
	dir.expect_dense(left);
	EXPECT_EQ(got, "{\"slab\":2,\"ok\":true,\"name\":\"" + dir.cache().name() +
			       "\",\"slabs\":" + std::to_string(slabs - stats.slabs) +
			       ",\"moved\":" + std::to_string(stats.moved) + "}\n");
}

TEST(DefragTest, ShrinkOverTheSocketHoldsNoLockOverTheCallbacks)
{
	directory dir(3000);
	unsigned asked = 0;

	dir.thin_out(10);
	dir.before = [&] {
		if (!asked++)
			elsewhere([] { test_cache other(100); });
	};
	answer("slab/2 shrink " + dir.cache().name());
	EXPECT_GT(asked, 0u);
}

TEST(DefragTest, OtherCachesAreShrunkAsEver)
{
	test_cache plain(100);

	slab_free(plain, slab_alloc(plain));
	EXPECT_EQ(answer("slab/2 shrink " + plain.name()), "{\"slab\":2,\"ok\":true,\"name\":\"" +
								   plain.name() +
								   "\",\"slabs\":1,\"moved\":0}\n");
	EXPECT_EQ(answer("slab/2 shrink"),
		  "{\"slab\":2,\"ok\":false,\"error\":\"shrink needs the name of a cache\"}\n");
	EXPECT_EQ(answer("slab/2 shrink nobody"),
		  "{\"slab\":2,\"ok\":false,\"error\":\"no cache is called \\\"nobody\\\"\"}\n");
}

/* --- bad input --------------------------------------------------------------------------- */

TEST(DefragTest, ACacheThatCannotMoveObjectsIsRefused)
{
	test_cache plain(100);

	EXPECT_EQ(slab_cache_defrag(plain), -ENOTSUP);
	EXPECT_EQ(errno, ENOTSUP);
	EXPECT_EQ(slab_cache_defrag(nullptr), -EINVAL);

	struct slab_cache *gone = slab_cache_create("gone", 100, nullptr, 0);

	ASSERT_EQ(slab_cache_destroy(gone), 0);
	EXPECT_EQ(slab_cache_defrag(gone), -EINVAL);
}

TEST(DefragTest, CallbacksComeTogetherAndWithAConstructor)
{
	const auto ctor = [](void *, void *) { return 0; };
	const auto isolate = [](void *, void *) { return 0; };
	const auto migrate = [](void *, void *, void *) { return 0; };
	struct slab_cache_args args[4] = {};

	args[0].isolate = isolate;
	args[1].migrate = migrate;
	args[2].isolate = args[3].isolate = isolate;
	args[2].migrate = args[3].migrate = migrate;
	args[0].ctor = args[1].ctor = args[3].ctor = ctor;
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(slab_cache_create("movable", 100, &args[i], 0), nullptr) << i;
		EXPECT_EQ(errno, EINVAL);
	}
	struct slab_cache *movable = slab_cache_create("movable", 100, &args[3], 0);
	test_cache other(100, 0, &args[3]);

	ASSERT_NE(movable, nullptr);
	EXPECT_NE(movable, static_cast<struct slab_cache *>(other));
	EXPECT_EQ(slab_cache_destroy(movable), 0);
}

} /* namespace */
