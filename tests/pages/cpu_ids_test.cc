/* SPDX-License-Identifier: MIT */
/*
 * CPU ids that the library cannot know of: no /sys and /proc to read, a /sys that knows
 * fewer CPUs than threads run on, no system call that bounds the ids. Each test is a child
 * in which libslab starts there.
 */
#include "../support/flavours.h"
#include "../support/folder.h"
#include "../support/process.h"
#include "../support/refuse.h"
#include "../support/without_thread.h" /* AddressSanitizer starts none here */
#include "../support/rooms.h"

namespace
{

constexpr std::size_t canary_bytes = std::size_t{1} << 20;

/* A mapping of the program's. The next one stands right before it. */
char *map_canary()
{
	void *canary = mmap(nullptr, canary_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return static_cast<char *>(std::memset(canary, 0x5a, canary_bytes));
}

bool is_intact(const char *canary)
{
	return std::all_of(canary, canary + canary_bytes, [](char c) { return c == 0x5a; });
}

/* A folder without anything in it becomes all files there are. */
bool leave_file_system(const char *empty)
{
	if (chroot(empty) != 0 && (unshare(CLONE_NEWUSER) != 0 || chroot(empty) != 0))
		return false;
	return chdir("/") == 0;
}

/* Many objects there and back on this CPU; all are distinct, and none is left. */
bool caches_work()
{
	struct slab_cache *cache = slab_cache_create("entry", 64, nullptr, 0);
	std::vector<void *> objects(5000);

	if (!cache)
		return false;
	for (int round = 0; round < 10; round++) {
		for (void *&object : objects)
			object = slab_alloc(cache);
		std::sort(objects.begin(), objects.end());
		if (!objects.front() ||
		    std::adjacent_find(objects.begin(), objects.end()) != objects.end())
			return false;
		for (void *object : objects)
			slab_free(cache, object);
	}
	return slab_cache_validate(cache) == 0 && slab_cache_destroy(cache) == 0;
}

constexpr int not_permitted = 77;

/* body() is run where there are no files, on the highest CPU alone. */
template <typename Body> std::string run_without_files(Body body)
{
	const folder empty;

	return run_in_child([&] {
		pin(allowed_cpus().size() - 1);
		return leave_file_system(empty.path.c_str()) ? body() : not_permitted;
	});
}

#define EXPECT_PASSED(failure)                                                                     \
	do {                                                                                       \
		const std::string failed = failure;                                                \
		if (failed == "exit status 77")                                                    \
			GTEST_SKIP() << "not permitted here";                                      \
		EXPECT_EQ(failed, "");                                                             \
	} while (0)

TEST(CpuIds, WithoutSysAndProcOnTheHighestCpuNothingBesideTheSlotsIsWritten)
{
	if (allowed_cpus().back() == 0)
		GTEST_SKIP() << "one CPU";
	EXPECT_PASSED(run_without_files([]() -> int {
		const char *canary = map_canary();

		return !(caches_work() && is_intact(canary));
	}));
}

TEST(CpuIds, WithoutSysAndProcTheEngineIsTheOneAskedFor)
{
	EXPECT_PASSED(run_without_files([]() -> int {
		const char *wanted = std::getenv("SLAB_ENGINE");

		slab_init();
		return wanted && std::strcmp(slab_engine(), wanted) != 0 &&
		       !(std::strcmp(wanted, "rseq") == 0 && !RSEQ_ARCH);
	}));
}

/* No bound for the ids: the fast path could go anywhere, so there is none. */
TEST(CpuIds, WhereNothingBoundsTheIdsTheEngineHasLocks)
{
	EXPECT_PASSED(run_without_files([]() -> int {
		const char *canary = map_canary();

		if (!refuse(SYS_sched_getaffinity, EPERM))
			return not_permitted;
		return !(std::strcmp(slab_engine(), "rseq") != 0 && caches_work() &&
			 is_intact(canary));
	}));
}

/* A container may show a /sys of its own. */
TEST(CpuIds, ACpuBeyondWhatSysSaysHasItsSlotAndIsWalked)
{
	if (allowed_cpus().back() == 0)
		GTEST_SKIP() << "one CPU";
	EXPECT_PASSED(run_in_child([]() -> int {
		const int highest = allowed_cpus().back();
		struct slab_process_stats stats = {};
		const char *canary = map_canary();

		cpu_set_possible(static_cast<unsigned>(highest));
		pin(allowed_cpus().size() - 1);
		if (!caches_work() || !is_intact(canary))
			return 1;
		stats.struct_size = sizeof(stats);
		if (slab_process_stats(&stats) != 0)
			return 2;
		/* Engines with locks use the slot of another CPU. */
		return std::strcmp(slab_engine(), "rseq") == 0 &&
				       stats.cpus <= static_cast<unsigned>(highest)
			       ? 3
			       : 0;
	}));
}

/* What a thread left on such a CPU comes back with the rest, also what waits for a grace period
 * there. */
TEST(CpuIds, ObjectsFreedOnACpuBeyondWhatSysSaysAreNotLost)
{
	if (allowed_cpus().size() < 2)
		GTEST_SKIP() << "one CPU";
	for (auto free_it : {slab_free, slab_free_rcu})
		EXPECT_PASSED(run_in_child([free_it]() -> int {
			struct slab_cache_args args = {};
			std::vector<void *> objects(1000);

			cpu_set_possible(static_cast<unsigned>(allowed_cpus().back()));
			pin(0);
			args.rcu = &urcu_bp_flavor;

			struct slab_cache *cache = slab_cache_create("entry", 64, &args, 0);

			for (void *&object : objects)
				object = slab_alloc(cache);
			std::thread([&] {
				pin(allowed_cpus().size() - 1);
				for (void *object : objects)
					free_it(cache, object);
			}).join();
			return slab_cache_destroy(cache) == 0 ? 0 : 1;
		}));
}

} // namespace
