/* SPDX-License-Identifier: MIT */
/*
 * slab_free_rcu() of what is no object of its cache, beside objects of every kind: it is
 * reported, and nothing is freed, neither at once nor after a grace period.
 */
#include "../support/cpus.h"
#include "../support/debugging.h"
#include "../support/flavours.h"
#include "../support/no_collection.h"

namespace
{

enum kind { PLAIN, DEBUG_FLAGS, LEGACY, GUARDED, RESERVE };

const char *const kind_names[] = {"Plain", "WithDebugFlags", "Legacy", "Guarded", "WithReserve"};

struct slab_cache_args args_of(kind k)
{
	struct slab_cache_args args = {};

	args.rcu = &urcu_bp_flavor;
	args.reserve = k == RESERVE ? 4 : 0;
	return args;
}

class RcuWrongFree : public DebugTest, public testing::WithParamInterface<kind>
{
protected:
	RcuWrongFree()
		: args_(args_of(GetParam())),
		  cache_(64, GetParam() == DEBUG_FLAGS ? SLAB_DEBUG_DEFAULT : 0, &args_), other_(64)
	{
		if (GetParam() == GUARDED)
			slab_cache_sample(cache_, 1);
		for (char *&obj : objs_)
			obj = hidden(slab_alloc(cache_));
		if (GetParam() == LEGACY)
			slab_cache_debug(cache_, SLAB_DEBUG_DEFAULT);
		/* The array of deferred frees has an object of their slab. */
		slab_free_rcu(cache_, objs_[2]);
	}

	~RcuWrongFree() override
	{
		slab_free(cache_, objs_[0]);
		slab_free(cache_, objs_[1]);
		EXPECT_EQ(slab_rcu_barrier(cache_), 0);
		EXPECT_EQ(stats_of(cache_).objects, 0u);
		EXPECT_EQ(slab_cache_validate(cache_), 0);
	}

	void expect_refused(void *pointer, enum slab_problem problem, const std::string &reason)
	{
		const unsigned before = reports_.count();

		slab_free_rcu(cache_, hidden(pointer));
		expect_report(before, pointer, problem, reason);
	}

	/* The one after the first BEFORE. */
	void expect_report(unsigned before, void *pointer, enum slab_problem problem,
			   const std::string &reason)
	{
		ASSERT_EQ(reports_.count(), before + 1) << reports_.text();
		EXPECT_EQ(reports_.last().info.problem, problem);
		EXPECT_EQ(reports_.last().reason, reason);
		EXPECT_NE(reports_.last().text.find("FIX " + cache_.name() + ": Object at " +
						    text_of(pointer) + " not freed\n"),
			  std::string::npos)
			<< reports_.last().text;
		EXPECT_NE(reports_.last().info.detected.frames, 0u);
		EXPECT_EQ(slab_rcu_barrier(cache_), 0);
		EXPECT_EQ(stats_of(cache_).objects, 2u) << reports_.text();
		EXPECT_EQ(reports_.count(), before + 1) << reports_.text();
	}

	static std::string text_of(const void *pointer)
	{
		char text[32];

		std::snprintf(text, sizeof(text), "%p", pointer);
		return text;
	}

	void expect_invalid(void *pointer)
	{
		expect_refused(pointer, SLAB_PROBLEM_INVALID_POINTER,
			       "Invalid object pointer " + text_of(pointer));
	}

	void expect_outside(void *pointer)
	{
		expect_refused(pointer, SLAB_PROBLEM_NOT_A_SLAB,
			       "Attempt to free object " + text_of(pointer) + " outside of slab");
	}

	struct slab_cache_args args_;
	test_cache cache_, other_;
	char *objs_[3];
};

TEST_P(RcuWrongFree, OfTheInside)
{
	for (const std::ptrdiff_t into : {1, 8, 16, 63})
		expect_invalid(objs_[0] + into);
}

TEST_P(RcuWrongFree, OfTheBytesBefore)
{
	expect_invalid(objs_[1] - 8);
}

TEST_P(RcuWrongFree, OfAnotherCachesObject)
{
	void *obj = slab_alloc(other_);

	expect_refused(obj, SLAB_PROBLEM_WRONG_CACHE,
		       "Wrong slab cache. " + cache_.name() + " but object is from " +
			       other_.name());
	slab_free(other_, obj);
}

TEST_P(RcuWrongFree, OfMemoryBySize)
{
	void *small = slab_malloc(48), *large = slab_malloc(100000),
	     *mapping = slab_malloc(4 << 20);

	expect_refused(small, SLAB_PROBLEM_WRONG_CACHE,
		       "Wrong slab cache. " + cache_.name() + " but object is from size-48");
	expect_invalid(large);
	expect_invalid(mapping);
	slab_mfree(small);
	slab_mfree(large);
	slab_mfree(mapping);
}

TEST_P(RcuWrongFree, OfMemoryThatIsNotOurs)
{
	static int global;
	int local = 0;
	void *heap = std::malloc(64);

	expect_outside(&global);
	expect_outside(&local);
	expect_outside(heap);
	std::free(heap);
}

TEST_P(RcuWrongFree, OfAddressesThatLeadNowhere)
{
	for (const std::uintptr_t address :
	     {std::uintptr_t{8}, std::uintptr_t{0x1234567890}, ~std::uintptr_t{0} & ~7ul,
	      std::uintptr_t{0xdeadbeefdeadbee8}})
		expect_outside(reinterpret_cast<void *>(address));
}

TEST_P(RcuWrongFree, OfTheAllocatorsOwnPages)
{
	expect_invalid(segment_start(objs_[0]) + 8192);
}

TEST_P(RcuWrongFree, OfWhatWaitsAlready)
{
	const on_one_cpu here; /* whose array has it as its newest object */
	char *obj = hidden(slab_alloc(cache_));

	{
		const no_collection meanwhile(cache_);

		slab_free_rcu(cache_, hidden(obj));
		slab_free_rcu(cache_, hidden(obj));
	}
	expect_report(0, obj, SLAB_PROBLEM_DOUBLE_FREE, "Object already free");
}

INSTANTIATE_TEST_SUITE_P(Beside, RcuWrongFree,
			 testing::Values(PLAIN, DEBUG_FLAGS, LEGACY, GUARDED, RESERVE),
			 [](const auto &info) { return std::string(kind_names[info.param]); });

} /* namespace */
