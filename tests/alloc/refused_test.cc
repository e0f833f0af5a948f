/* SPDX-License-Identifier: MIT */
/*
 * Kernels without rseq(2) or membarrier(2), which return ENOSYS, and containers that refuse them,
 * mostly with EPERM: from the start of the process or while it runs. Threads allocate and free
 * under the ownership oracle while slabs are revoked. (A process to whose new threads rseq(2) is
 * refused later is ended by glibc.)
 */
#include <sys/rseq.h>

#include "../support/refuse.h"
#include "../support/stress.h"
#include "../support/rooms.h"

namespace
{

cpu_set_t affinity()
{
	cpu_set_t set;

	CPU_ZERO(&set);
	EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	return set;
}

class RefusedTest : public ArenaTest, public testing::WithParamInterface<int>
{
protected:
	RefusedTest() : ArenaTest({64, 712}) {}

	unsigned error() const { return static_cast<unsigned>(GetParam()); }

	/* Run the test again in a process, to which system call `number` is refused from its start
	 * on if `from_the_start`. */
	void again(unsigned number, bool from_the_start)
	{
		std::thread([this, number, from_the_start] {
			if (from_the_start && !refuse(number, error()))
				GTEST_SKIP() << "no seccomp filter here";
			const second_run run = run_again({});

			if (run.output.find("[  SKIPPED ] 1 test") != std::string::npos)
				GTEST_SKIP() << "no rseq, or no seccomp filter here";
			EXPECT_EQ(run.failure, "") << run.output;
		}).join();
	}

	/* Objects change threads and CPUs; every shrink takes the slabs of all CPUs. */
	void work_and_shrink()
	{
		std::atomic<unsigned> shrinks{0};

		for (int i = 0; i < 4; i++)
			add_worker();
		add_helper([this, &shrinks] {
			const int pages = slab_cache_shrink(arena_.cache(shrinks % arena_.kinds()));

			EXPECT_GE(pages, 0);
			shrinks++;
		});
		run_threads([&shrinks] { return shrinks >= 100; });
		arena_.expect_whole();
	}
};

INSTANTIATE_TEST_SUITE_P(Errors, RefusedTest, testing::Values(ENOSYS, EPERM),
			 [](const auto &info) { return info.param == EPERM ? "EPERM" : "ENOSYS"; });

TEST_P(RefusedTest, WithoutMembarrierAnotherEngineServes)
{
	if (!running_again()) {
		again(SYS_membarrier, true);
		return;
	}
	EXPECT_STRNE(slab_engine(), "rseq");
	if (!under_tsan) { /* which has no rseq at all */
		EXPECT_EQ(cpu_rseq_lack, CPU_RSEQ_NOT_FENCED);
	}
	work_and_shrink();
}

TEST_P(RefusedTest, MembarrierRefusedLaterIsReplacedByVisitsOfTheCpus)
{
	if (!running_again()) {
		again(SYS_membarrier, false);
		return;
	}
	const cpu_set_t before = affinity();

	if (std::strcmp(slab_engine(), "rseq") != 0 || !refuse(SYS_membarrier, error()))
		GTEST_SKIP();
	work_and_shrink();
	const cpu_set_t after = affinity();

	EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST_P(RefusedTest, WithoutAnyFenceShrinksTakeNothingFromCpus)
{
	if (!running_again()) {
		again(SYS_membarrier, false);
		return;
	}
	if (std::strcmp(slab_engine(), "rseq") != 0 || !refuse_fences(error()))
		GTEST_SKIP();
	work_and_shrink();
}

/* Objects whose frees fill arrays, which the cache then lengthens. */
std::vector<void *> many(struct slab_cache *cache)
{
	std::vector<void *> objs(50000);

	EXPECT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_FULL, objs.size(), objs.data()), objs.size());
	return objs;
}

TEST_P(RefusedTest, WithoutAnyFenceArraysAreLengthenedOnce)
{
	if (!running_again()) {
		again(SYS_membarrier, false);
		return;
	}
	if (std::strcmp(slab_engine(), "rseq") != 0 || !refuse_fences(error()))
		GTEST_SKIP();
	std::atomic<bool> done{false};
	std::thread other([&] {
		while (!done)
			usleep(1000);
	});
	struct slab_cache *cache = slab_cache_create("short", 64, nullptr, 0);

	for (void *obj : many(cache))
		slab_free(cache, obj);
	EXPECT_EQ(cache->array_most, cpu_array_room(false));
	EXPECT_EQ(cache->short_arrays, nullptr);
	done = true;
	other.join();
}

TEST_P(RefusedTest, FreesLeaveErrnoWhereTheSystemHasNoMemory)
{
	if (!running_again()) {
		again(SYS_mmap, false);
		return;
	}
	struct slab_cache *cache = slab_cache_create("errno", 64, nullptr, 0);
	const std::vector<void *> objs = many(cache);
	unsigned changed = 0;

	/* Sanitizers end the process if they have no memory. */
	if (under_asan || under_tsan || !refuse(SYS_mmap, ENOMEM))
		GTEST_SKIP();
	for (void *obj : objs) {
		errno = 4711;
		slab_free(cache, obj);
		changed += errno != 4711;
	}
	EXPECT_EQ(changed, 0u);
	EXPECT_EQ(cache->array_most, cpu_array_room(false)) << "nothing was refused";
}

TEST_P(RefusedTest, WithoutRseqAnotherEngineServes)
{
	if (!running_again()) {
		again(SYS_rseq, true);
		return;
	}
	EXPECT_EQ(__rseq_size, 0u);
	EXPECT_STRNE(slab_engine(), "rseq");
	EXPECT_EQ(cpu_rseq_lack, CPU_RSEQ_UNREGISTERED);
	work_and_shrink();
}

} /* namespace */
