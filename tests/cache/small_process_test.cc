/* SPDX-License-Identifier: MIT */
/*
 * Small processes: what the first allocation and each further cache take besides slabs. All tests
 * count pages or system calls, never time.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "../support/objects.h"
#include "../support/process.h"
#include "../support/units.h"
#include "../support/rooms.h"

namespace
{

/* From here on a call of openat() ends the process. */
void forbid_files()
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

bool has_one_node()
{
	unsigned long nodes[16] = {};

	return syscall(SYS_get_mempolicy, nullptr, nodes, 8 * sizeof(nodes), nullptr, 4) == 0 &&
	       nodes[0] == 1;
}

/* The first test, so that libslab starts in the child. */
TEST(SmallProcess, TheFirstAllocationOpensNoFile)
{
	if (under_asan || under_tsan || under_gcov || !has_one_node())
		GTEST_SKIP() << "a sanitizer, counts that go to files, or several nodes";
	/* The fence of the other engines visits the arrays of all CPUs, in their self-test too. */
	if (run_in_child([]() -> int { return std::strcmp(slab_engine(), "rseq"); }) != "")
		GTEST_SKIP() << "an engine with locks";
	EXPECT_IN_CHILD([]() -> int {
		setenv("SLAB_CONTROL", "off", 1);
		/* Where no filter can be set, the allocations are all that is tested. */
		forbid_files();
		return slab_malloc(16) && slab_malloc(100) ? 0 : 1;
	});
}

/* Before any other test makes libslab read this file. */
TEST(SmallProcess, ReplacingMallocReadsTheFilesAtOnce)
{
	if (under_asan || under_tsan || under_gcov)
		GTEST_SKIP() << "a sanitizer, or counts that go to files";
	const auto possible_without_files = []() -> int {
		forbid_files();
		return cpu_possible() ? 0 : 1;
	};

	if (run_in_child(possible_without_files) == "")
		GTEST_SKIP() << "no filter can be set, or the engine has read the file";
	EXPECT_IN_CHILD([&]() -> int {
		slab_replace_malloc();
		return possible_without_files();
	});
}

/* Run the steps in a child with less than a gibibyte: there, no whole segment is mapped at once. */
template <typename Steps> void expect_with_little_space(Steps steps)
{
	if (under_asan || under_tsan)
		GTEST_SKIP() << "a sanitizer needs more address space";
	EXPECT_IN_CHILD([&]() -> int {
		struct rlimit before;

		getrlimit(RLIMIT_DATA, &before);
		const struct rlimit little = {rlim_t{512} << 20, before.rlim_max};

		setrlimit(RLIMIT_DATA, &little);
		const int result = steps();

		setrlimit(RLIMIT_DATA, &before);
		return cpu_space_is_short() ? result : 100;
	});
}

TEST(SmallProcess, WithLittleAddressSpaceMappingsGrowInParts)
{
	expect_with_little_space([]() -> int {
		const std::size_t before = address_space();

		slab_free_any(slab_malloc(16));
		if (address_space() - before > 4 * mib)
			return 1;
		for (unsigned i = 0; i < 20000; i++)
			if (!slab_malloc(1000))
				return 2;
		return address_space() - before < 40 * mib ? 0 : 3;
	});
}

TEST(SmallProcess, WithLittleAddressSpaceAPartIsUnmappedAndMappedAgain)
{
	expect_with_little_space([]() -> int {
		if (!slab_free_any(slab_malloc(1000)))
			return 1;
		slab_trim();
		if (!segment_unmap_free())
			return 2;
		return slab_free_any(slab_malloc(1000)) ? 0 : 3;
	});
}

/* Otherwise it would begin with the next decay pass. */
TEST(SmallProcess, SamplingBeginsAtOnceWhereSlowPathsDoWhatIsDue)
{
	EXPECT_IN_CHILD([]() -> int {
		slab_replace_malloc();
		struct slab_cache *cache = slab_cache_create("sampled", 64, nullptr, 0);

		slab_free(cache, slab_alloc(cache));
		slab_maintain_due();
		if (!decay_wait())
			return 1;
		slab_cache_sample(cache, 100000);
		slab_maintain_due();
		return cache->sample.opened ? 0 : 2;
	});
}

constexpr unsigned caches = 20;

std::vector<struct slab_cache *> create_caches()
{
	std::vector<struct slab_cache *> made;

	for (unsigned i = 0; i < caches; i++) {
		const std::string name = "small" + std::to_string(i);

		made.push_back(slab_cache_create(name.c_str(), 64 + 16 * i, nullptr, 0));
	}
	return made;
}

void destroy_caches(const std::vector<struct slab_cache *> &made)
{
	for (struct slab_cache *cache : made)
		EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST(SmallProcess, HandlesShareLines)
{
	const std::vector<struct slab_cache *> made = create_caches();
	std::set<std::uintptr_t> kib;

	for (const struct slab_cache *cache : made)
		for (std::size_t i = 0; i < cache_bytes(); i += CPU_CACHELINE)
			kib.insert((reinterpret_cast<std::uintptr_t>(cache) + i) / 1024);
	EXPECT_LE(kib.size(), caches * cache_bytes() / 1024 + 4);
	EXPECT_LE(sizeof(struct slab_cache) + sizeof(struct cache_node), 1280U);
	destroy_caches(made);
}

/* The first refill takes no objects of a second page. */
TEST(SmallProcess, OneObjectTakesOnePage)
{
	for (const std::size_t size : {48U, 504U, 1000U, 3000U}) {
		test_cache cache(size);
		void *obj = slab_alloc(cache);

		EXPECT_LE(slab_of(obj)->initialized * size, os_page_size()) << size;
		slab_free(cache, obj);
	}
}

/* One object of each cache: nothing but its short arrays, 256 bytes of them on this CPU. */
TEST(SmallProcess, OneObjectTakesNoMagazineAndNoLongArray)
{
	const std::vector<struct slab_cache *> made = create_caches();
	std::vector<void *> objects;

	for (struct slab_cache *cache : made)
		objects.push_back(slab_alloc(cache));
	for (struct slab_cache *cache : made) {
		EXPECT_EQ(cache->node[0].depot.magazine[0], nullptr);
		EXPECT_FALSE(cpu_arrays_are_long(cache->own_arrays));
	}
	for (unsigned i = 0; i < caches; i++)
		slab_free(made[i], objects[i]);
	destroy_caches(made);
}

} /* namespace */
