/* SPDX-License-Identifier: MIT */
/* Many objects on their way through a scratch, and allocations that find it in use. */
#include "../support/child_process.h"
#include "percpu.h"

extern "C" {
#include "percpu/scratch.h"
}

namespace
{

constexpr unsigned length =
	600; /* a flush or a refill moves more objects than a stack has room for */

class ScratchTest : public PerCpuTest
{
protected:
	ScratchTest() : PerCpuTest(length, 64) {}

	~ScratchTest() override
	{
		if (scratch_)
			scratch_drop(scratch_, 0);
	}

	struct scratch *try_it() const { return scratch_try(cpu_); }

	void hold()
	{
		scratch_ = try_it();
		ASSERT_NE(scratch_, nullptr);
	}

	/* Flushes and refills of an array that is too long for one magazine. */
	void move_many()
	{
		free(alloc(10 * length));
		free(alloc(10 * length));
	}

	struct scratch *scratch_ = nullptr;
};

TEST_F(ScratchTest, OneThreadHasIt)
{
	hold();
	EXPECT_EQ(try_it(), nullptr);
	std::thread([this] { EXPECT_EQ(try_it(), nullptr); }).join();
}

TEST_F(ScratchTest, NobodyWaitsForIt)
{
	hold();
	move_many();
	expect_counted();
}

TEST_F(ScratchTest, KeepsNoAddressOfAnObject)
{
	move_many();
	hold();
	EXPECT_TRUE(std::all_of(scratch_->objs, scratch_->objs + SCRATCH_MAX + 1,
				[](const void *obj) { return obj == nullptr; }));
}

TEST_F(ScratchTest, OfAnotherThreadIsFreeInTheChildOfAFork)
{
	std::thread([this] { hold(); }).join();
	EXPECT_IN_CHILD([&] { return try_it() ? 0 : 1; });
}

TEST_F(ScratchTest, OfTheThreadThatForksStaysItsOwn)
{
	hold();
	EXPECT_IN_CHILD([&] {
		if (try_it())
			return 1;
		scratch_drop(scratch_, 0);
		return try_it() ? 0 : 2;
	});
}

/* The refill that asks for constructed objects must not take a failure for "there are none". */
TEST(ScratchConstructorTest, AConstructorThatFailsIsCalledOnce)
{
	static bool fails;
	static unsigned calls;
	struct slab_cache_args args = {};

	fails = false;
	args.ctor = [](void *, void *) {
		calls++;
		return fails ? -1 : 0;
	};

	test_cache owner(16, 0, &args);
	struct slab_cache *cache = owner;
	std::vector<void *> objs;

	set_array_length(cache, length);
	for (unsigned i = 0; i < length; i++) /* some of the first slab's are not constructed yet */
		objs.push_back(slab_alloc(cache));
	fails = true;
	void *obj;
	unsigned before;
	do {
		before = calls;
		errno = 0;
		obj = slab_alloc(cache);
		objs.push_back(obj);
	} while (obj);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_EQ(calls - before, 1U);
	for (void *each : objs)
		slab_free(cache, each);
}

} /* namespace */
