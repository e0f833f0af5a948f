/* SPDX-License-Identifier: MIT */
/*
 * A process's first call initialises the library: it looks for files and asks the system
 * for much that is not there in a chroot or a sandbox. errno is the caller's all the same.
 */
#include "../support/folder.h"
#include "../support/process.h"

namespace
{

struct first_call {
	const char *name;
	std::function<bool()> call;
};

bool mfree(void *memory)
{
	slab_mfree(memory);
	return memory != nullptr;
}

void PrintTo(const first_call &first, std::ostream *os)
{
	*os << first.name;
}

/* LeakSanitizer reads /proc, which hide_files() hides. */
const char without_leak_check[] = "ASAN_OPTIONS=handle_segv=0:detect_leaks=0";

class FirstCall : public testing::TestWithParam<first_call>
{
protected:
	/* Neither /sys, /proc nor any other file; false: not allowed to. */
	static bool hide_files(const char *root)
	{
		if (geteuid() != 0 && unshare(CLONE_NEWUSER) != 0)
			return false;
		return chroot(root) == 0 && chdir("/") == 0;
	}

	static void call_once()
	{
		errno = 4711;
		const bool done = GetParam().call();
		const int left = errno;

		EXPECT_TRUE(done);
		EXPECT_EQ(left, 4711);
	}
};

TEST_P(FirstCall, LeavesErrno)
{
	if (!in_environment({}))
		return;
	call_once();
}

TEST_P(FirstCall, LeavesErrnoWhereThereAreNoFiles)
{
	if (!running_again()) {
		const folder root;
		const second_run run =
			run_again({"ROOT=" + root.path,
				   "HOME=", "XDG_RUNTIME_DIR=", "PATH=", without_leak_check});

		if (run.failure == was_skipped)
			GTEST_SKIP() << "this process may not chroot";
		EXPECT_EQ(run.failure, "") << run.output;
		return;
	}
	if (!hide_files(std::getenv("ROOT")))
		GTEST_SKIP() << "this process may not chroot";
	call_once();
}

const first_call calls[] = {
	{"slab_malloc", [] { return mfree(slab_malloc(10)); }},
	{"slab_malloc_large", [] { return mfree(slab_malloc(100000)); }},
	{"slab_malloc_mapping", [] { return mfree(slab_malloc(10000000)); }},
	{"slab_calloc", [] { return mfree(slab_calloc(10, 10)); }},
	{"slab_memalign", [] { return mfree(slab_memalign(64, 10)); }},
	{"slab_realloc", [] { return mfree(slab_realloc(nullptr, 10)); }},
	{"slab_cache_create", [] { return slab_cache_create("first", 64, nullptr, 0) != nullptr; }},
	{"slab_set_limit",
	 [] {
		 slab_set_limit(1 << 30);
		 return true;
	 }},
	{"slab_engine", [] { return slab_engine() != nullptr; }},
};

INSTANTIATE_TEST_SUITE_P(Of, FirstCall, testing::ValuesIn(calls),
			 [](const auto &info) { return std::string(info.param.name); });

} /* namespace */
