/* SPDX-License-Identifier: MIT */
/*
 * The states of a slab, step by step: its owner, on which list it stands, where its free
 * objects are, and what each step counts. Revocation: revoke_test.cc.
 *
 * Threads are pinned, and no other thread uses the cache, so every step has one
 * outcome. After each, every slab must be in a state that exists and every
 * object be accounted for. No object goes to a LIFO, so all engines do the same.
 */
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../support/objects.h"
#include "../support/process.h"
#include "../support/slab_state.h"

extern "C" {
#include "percpu/refill.h"
#include "cpu_cache.h"
#include "cpu_slab.h"
#include "pages/segment.h"
}

using namespace slab_test;

namespace
{

/* From the first allocation to full and back */

TEST_F(SlabStateTest, ACacheBeginsWithoutSlabs)
{
	check();
	expect_slots_empty();
	EXPECT_EQ(stats_of(cache_).slabs, 0u);
}

TEST_F(SlabStateTest, AFreshSlabIsCurrent)
{
	void *obj = alloc();
	struct slab *slab = slab_of(obj);

	check();
	EXPECT_EQ(state(slab), at::current);
	EXPECT_EQ(cpu_slab_owner(&slab->cpu), static_cast<std::uint32_t>(cpu_));
	EXPECT_EQ(obj, slab->cpu.base);
	EXPECT_EQ(slab->objects, cache_->large.objects);
	EXPECT_GE(slab->initialized, 1u);
	EXPECT_EQ(local(slab), slab->initialized - 1u);
	EXPECT_GE(slab->populated, slab->initialized * 8192u);
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_SLAB), 1u);
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_SLOWPATH), 1u);
}

/* Objects of a small cache are made as they are needed, all in one slab. */
TEST_F(SlabStateTest, AnExhaustedSlabIsCurrentUntilTheNextAllocation)
{
	const std::vector<void *> objs = alloc_slab();
	struct slab *slab = slab_of(objs[0]);

	for (void *obj : objs)
		EXPECT_EQ(slab_of(obj), slab);
	EXPECT_EQ(slab->initialized, slab->objects);
	EXPECT_EQ(local(slab), 0u);
	EXPECT_EQ(state(slab), at::current);
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_SLAB), 1u);

	void *next = alloc();

	check();
	EXPECT_NE(slab_of(next), slab);
	EXPECT_EQ(state(next), at::current);
	EXPECT_EQ(state(slab), at::full);
	EXPECT_EQ(event(SLAB_EVENT_DEACTIVATE_FULL), 1u);
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_SLAB), 2u);
}

TEST_F(SlabStateTest, TheFirstFreeIntoAFullSlabOwnsIt)
{
	const std::vector<void *> objs = alloc_full_slab();
	struct slab *slab = slab_of(objs[0]);

	free(objs[1]);
	check();
	EXPECT_EQ(state(slab), at::partial);
	EXPECT_EQ(cpu_slab_owner(&slab->cpu), static_cast<std::uint32_t>(cpu_));
	EXPECT_EQ(local(slab), 1u);
	EXPECT_EQ(event(SLAB_EVENT_FREE_OWN), 1u);

	free(objs[2]);
	check();
	EXPECT_EQ(local(slab), 2u);
	EXPECT_EQ(event(SLAB_EVENT_FREE_OWN), 1u);
	EXPECT_EQ(event(SLAB_EVENT_FREE_SLOWPATH), 1u);
}

TEST_F(SlabStateTest, AllocationsComeFromCurrentThenPartial)
{
	const std::vector<void *> objs = alloc_full_slab();
	struct slab *slab = slab_of(objs[0]), *current = slab_of(held_.back());

	free(objs[1]);
	EXPECT_EQ(slab_of(alloc()), current);
	/* What is left of the current slab. */
	while (state(slab) == at::partial)
		alloc();
	check();
	EXPECT_EQ(held_.back(), objs[1]);
	EXPECT_EQ(state(slab), at::current);
	EXPECT_EQ(state(current), at::full);
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_FROM_PARTIAL), 1u);
}

TEST_F(SlabStateTest, AnExhaustedSlabGoesOnWithWhatWasFreedIntoItMeanwhile)
{
	const std::vector<void *> objs = alloc_slab();
	struct slab *slab = slab_of(objs[0]);

	free_all({objs[3], objs[4], objs[5]});
	EXPECT_EQ(state(slab), at::current);
	EXPECT_EQ(local(slab), 3u);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(slab_of(alloc()), slab);
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_SLAB), 1u);
}

/* Frees from another CPU */

TEST_F(SlabStateTest, FreesFromAnotherCpuAreBatched)
{
	if (one_cpu())
		GTEST_SKIP() << "one CPU";
	const std::vector<void *> objs = alloc(8);
	struct slab *slab = slab_of(objs[0]);
	const unsigned before = local(slab);

	elsewhere([&] {
		for (void *obj : objs)
			free(obj);
	});
	EXPECT_EQ(slot(other_cpu())->remote_batch, cpu_word(&slab->cpu, 8));
	EXPECT_EQ(stats_of(cache_).cpu_objects, 8u);
	EXPECT_EQ(state(slab), at::current);
	EXPECT_EQ(local(slab), before);
	EXPECT_EQ(slab->remote, REMOTE_OWNED);
	EXPECT_EQ(event(SLAB_EVENT_FREE_REMOTE_BATCH), 0u);
}

TEST_F(SlabStateTest, AnotherSlabsObjectFlushesTheRemoteBatch)
{
	if (one_cpu())
		GTEST_SKIP() << "one CPU";
	const std::vector<void *> objs = alloc_slab();
	struct slab *slab = slab_of(objs[0]);

	elsewhere([&] {
		for (int i = 0; i < 5; i++)
			free(objs[i]);
	});
	EXPECT_EQ(remote(slab), 0u);

	void *other = alloc();

	elsewhere([&] { free(other); });
	EXPECT_EQ(slot(other_cpu())->remote_batch, cpu_word(&slab_of(other)->cpu, 1));
	EXPECT_EQ(event(SLAB_EVENT_FREE_REMOTE_BATCH), 1u);
	EXPECT_EQ(event(SLAB_EVENT_FREE_REMOTE), 5u);
	/* It was full meanwhile, so it belongs to the CPU that brought them. */
	EXPECT_EQ(state(slab), at::partial);
	EXPECT_EQ(cpu_slab_owner(&slab->cpu), static_cast<std::uint32_t>(other_cpu()));
	EXPECT_EQ(local(slab), 5u);
}

TEST_F(SlabStateTest, AFreeIntoAFullSlabDoesNotGoThroughTheBuffer)
{
	if (one_cpu())
		GTEST_SKIP() << "one CPU";
	const std::vector<void *> objs = alloc_full_slab();
	struct slab *slab = slab_of(objs[0]);

	elsewhere([&] { free_all({objs[0], objs[1]}); });
	EXPECT_EQ(slot(other_cpu())->remote_batch, 0u);
	EXPECT_EQ(state(slab), at::partial);
	EXPECT_EQ(cpu_slab_owner(&slab->cpu), static_cast<std::uint32_t>(other_cpu()));
	EXPECT_EQ(event(SLAB_EVENT_FREE_OWN), 1u);
	EXPECT_EQ(event(SLAB_EVENT_FREE_REMOTE_BATCH), 0u);
}

/* The CPU with a remote batch needs memory: the batch is returned first. */
TEST_F(SlabStateTest, ARefillFlushesTheRemoteBatch)
{
	if (one_cpu())
		GTEST_SKIP() << "one CPU";
	const std::vector<void *> objs = alloc(8);
	struct slab *slab = slab_of(objs[0]);

	elsewhere([&] {
		for (int i = 0; i < 4; i++)
			free(objs[i]);
		alloc();
	});
	EXPECT_EQ(slot(other_cpu())->remote_batch, 0u);
	EXPECT_EQ(remote(slab), 4u);
	EXPECT_NE(slab_of(held_.back()), slab);
	EXPECT_EQ(state(slab), at::current);
	EXPECT_EQ(cpu_slab_owner(&slab->cpu), static_cast<std::uint32_t>(cpu_));

	/* And ours takes them when it is exhausted. */
	while (local(slab))
		alloc();
	const unsigned waiting = remote(slab), made = slab->initialized;

	alloc();
	check();
	EXPECT_EQ(slab_of(held_.back()), slab);
	EXPECT_EQ(remote(slab), 0u);
	EXPECT_EQ(local(slab), waiting - 1);
	EXPECT_EQ(slab->initialized, made) << "objects were made although some were free";
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_REFILL), 1u);
}

/* A remote batch that arrives in a slab that became full meanwhile. */
TEST_F(SlabStateTest, ABatchIntoAFullSlabIsOwnedByTheCpuThatFrees)
{
	if (one_cpu())
		GTEST_SKIP() << "one CPU";
	const std::vector<void *> objs = alloc_slab();
	struct slab *slab = slab_of(objs[0]);

	ASSERT_EQ(state(slab), at::current);
	elsewhere([&] {
		for (int i = 0; i < 4; i++)
			free(objs[i]);
	});
	alloc();
	check();
	ASSERT_EQ(state(slab), at::full);
	elsewhere([&] { alloc(); });
	EXPECT_EQ(state(slab), at::current);
	EXPECT_EQ(cpu_slab_owner(&slab->cpu), static_cast<std::uint32_t>(other_cpu()));
	EXPECT_EQ(slab_of(held_.back()), slab);
	EXPECT_EQ(local(slab), 3u);
}

/* Many objects to a slab, so that a buffer gets full. */
class SmallObjectsTest : public SlabStateTest
{
protected:
	SmallObjectsTest() : SlabStateTest(512) {}
};

TEST_F(SmallObjectsTest, AFullBufferIsHandedOverInOneExchange)
{
	if (one_cpu())
		GTEST_SKIP() << "one CPU";
	const std::vector<void *> objs = alloc(CPU_BATCH_MAX + 1);
	struct slab *slab = slab_of(objs[0]);

	ASSERT_EQ(slab_of(objs.back()), slab);
	elsewhere([&] {
		for (unsigned i = 0; i < CPU_BATCH_MAX; i++)
			free(objs[i]);
	});
	EXPECT_EQ(slot(other_cpu())->remote_batch, cpu_word(&slab->cpu, CPU_BATCH_MAX));
	EXPECT_EQ(remote(slab), 0u);
	elsewhere([&] { free(objs.back()); });
	EXPECT_EQ(slot(other_cpu())->remote_batch, cpu_word(&slab->cpu, 1));
	EXPECT_EQ(remote(slab), static_cast<unsigned>(CPU_BATCH_MAX));
	EXPECT_EQ(event(SLAB_EVENT_FREE_REMOTE_BATCH), 1u);
	EXPECT_EQ(event(SLAB_EVENT_FREE_REMOTE), static_cast<std::uint64_t>(CPU_BATCH_MAX));

	/* And taken by us in one exchange, too. */
	while (local(slab))
		alloc();
	alloc();
	check();
	EXPECT_EQ(remote(slab), 0u);
	EXPECT_EQ(local(slab), CPU_BATCH_MAX - 1u);
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_REFILL), 1u);
}

/* Nodes */

TEST_F(SlabStateTest, EmptySlabsBeyondTheLimitsGoToTheNodeAndThePageLayer)
{
	const std::vector<void *> objs =
		alloc(cache_->large.objects * 3 * (cache_->cpu_partial + cache_->min_partial));
	const std::uint64_t most = stats_of(cache_).slabs;

	free_all(objs);
	const struct slab_stats stats = stats_of(cache_);

	EXPECT_GT(stats.event[SLAB_EVENT_CPU_PARTIAL_DRAIN], 0u);
	EXPECT_GT(stats.event[SLAB_EVENT_FREE_ADD_PARTIAL], 0u);
	EXPECT_GT(stats.event[SLAB_EVENT_FREE_SLAB], 0u);
	EXPECT_EQ(stats.slabs, most - stats.event[SLAB_EVENT_FREE_SLAB]);
	EXPECT_LE(stats.partial, cache_->min_partial);
	EXPECT_LT(stats.slabs, most);
	EXPECT_EQ(stats.partial + stats.cpu_slabs + stats.full, stats.slabs);
}

TEST_F(SlabStateTest, SlabsOnTheNodeAreTakenBeforeFreshOnes)
{
	const std::vector<void *> objs = alloc(cache_->large.objects * 3);

	for (std::size_t i = 0; i < objs.size(); i += 2)
		free(objs[i]);
	EXPECT_GE(slab_cache_shrink(cache_), 0);
	check();
	expect_slots_empty();
	struct slab *slab = slab_of(objs[1]);
	const std::uint64_t made = event(SLAB_EVENT_ALLOC_SLAB);

	EXPECT_EQ(state(slab), at::node);
	alloc();
	check();
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_SLAB), made);
	EXPECT_GE(event(SLAB_EVENT_ALLOC_FROM_NODE), 1u);
	EXPECT_EQ(state(held_.back()), at::current);
}

TEST_F(SlabStateTest, FreesIntoASlabOnTheNodeGoThroughItsRemoteWord)
{
	const std::vector<void *> objs = alloc(4);
	struct slab *slab = slab_of(objs[0]);

	slab_cache_shrink(cache_);
	check();
	ASSERT_EQ(state(slab), at::node);
	const unsigned before = local(slab);

	free_all({objs[0], objs[1], objs[2]});
	EXPECT_EQ(state(slab), at::node);
	EXPECT_EQ(local(slab), before);
	EXPECT_EQ(slot()->remote_batch, cpu_word(&slab->cpu, 3));
	slab_cache_shrink(cache_);
	check();
	EXPECT_EQ(local(slab) + remote(slab), before + 3);
	EXPECT_EQ(state(slab), at::node);
}

} /* namespace */
