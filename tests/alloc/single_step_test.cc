/* SPDX-License-Identifier: MIT */
/* A debugger that executes a thread instruction by instruction interrupts each of its sections. */
#include <sys/ptrace.h>

#include "../support/objects.h"
#include "../support/process.h"

namespace
{

/* Several times as many as the tests take. */
constexpr long most_steps = 300000;
constexpr std::size_t pairs = 10;

/* The exit status of a child that executes act() in single steps; -1: it took too many. */
int step_through(const std::function<int()> &act)
{
	const pid_t child = fork();
	int status = 0;

	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
		raise(SIGSTOP);
		_exit(act());
	}
	for (long steps = 0; steps < most_steps; steps++) {
		if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return -1;
}

class SingleStepTest : public testing::Test
{
protected:
	void SetUp() override
	{
		if (step_through([] { return 0; }) != 0)
			GTEST_SKIP() << "this machine does not single-step programs";
		std::vector<void *> objs(pairs);

		for (void *&obj : objs)
			obj = slab_alloc(cache_);
		for (void *obj : objs)
			slab_free(cache_, obj);
	}

	test_cache owner_{64};
	struct slab_cache *cache_ = owner_;
};

TEST_F(SingleStepTest, AllocationsAndFreesEnd)
{
	EXPECT_EQ(step_through([this] {
			  std::array<void *, pairs> objs;

			  for (void *&obj : objs)
				  obj = slab_alloc(cache_);
			  for (void *obj : objs)
				  slab_free(cache_, obj);
			  return 0;
		  }),
		  0);
}

TEST_F(SingleStepTest, BulkCallsEnd)
{
	EXPECT_EQ(step_through([this] {
			  std::array<void *, pairs> objs;
			  const std::size_t n =
				  slab_alloc_bulk(cache_, SLAB_ALLOC_FULL, pairs, objs.data());

			  slab_free_bulk(cache_, n, objs.data());
			  return n == pairs ? 0 : 1;
		  }),
		  0);
}

TEST_F(SingleStepTest, AllocationsBySizeAndAShrinkEnd)
{
	EXPECT_EQ(step_through([this] {
			  void *obj = slab_malloc(100);

			  slab_mfree(obj);
			  return slab_cache_shrink(cache_) >= 0 ? 0 : 1;
		  }),
		  0);
}

} /* namespace */
