/* SPDX-License-Identifier: MIT */
/*
 * slab_free_rcu() in caches with debug flags, and of what cannot be freed: the
 * report names the caller, then and later.
 */
#include <gtest/gtest.h>
#include <urcu/flavor.h>
#include <urcu/urcu-bp.h>

#include <cstddef>

#include "../support/debugging.h"
#include "../support/flavours.h"
#include "../support/rooms.h"

namespace
{

/* While this object lives, no thread takes objects that wait for a grace period out of a CPU's
 * array. */
class no_collection
{
public:
	explicit no_collection(struct slab_cache *cache)
	{
		rcu_fork_lock();
		rcu_fork_wait(cache);
	}

	~no_collection() { rcu_fork_unlock(); }

	no_collection(const no_collection &) = delete;
	no_collection &operator=(const no_collection &) = delete;
};

const struct slab_cache_args *with_rcu()
{
	static const struct slab_cache_args args = [] {
		struct slab_cache_args with = {};

		with.rcu = &urcu_bp_flavor;
		return with;
	}();

	return &args;
}

void in_thread(const char *name, void (*act)(struct slab_cache *, void *), struct slab_cache *cache,
	       void *obj)
{
	std::thread([=] {
		pthread_setname_np(pthread_self(), name);
		act(cache, obj);
	}).join();
}

TEST_F(DebugTest, RcuFreesWithDebugFlags)
{
	test_cache cache(64, all_debug_flags, with_rcu());

	for (int i = 0; i < 1000; i++)
		slab_free_rcu(cache, slab_alloc(cache));
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_EQ(stats_of(cache).objects, 0u);
	EXPECT_EQ(stats_of(cache).rcu_freed, 1000u);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

TEST_F(DebugTest, RcuFreesAreTraced)
{
	test_cache cache(64, all_debug_flags | SLAB_TRACE, with_rcu());
	void *obj = slab_alloc(cache);

	testing::internal::CaptureStderr();
	slab_free_rcu(cache, obj);
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_NE(testing::internal::GetCapturedStderr().find(" free 0x"), std::string::npos);
}

TEST_F(DebugTest, RcuPoisonsAfterTheGracePeriodOnly)
{
	test_cache cache(64, all_debug_flags, with_rcu());
	char *obj = hidden(slab_alloc(cache));

	obj[0] = 1;
	urcu_bp_flavor.read_lock();
	slab_free_rcu(cache, hidden(obj));
	EXPECT_EQ(obj[0], 1);
	urcu_bp_flavor.read_unlock();
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_EQ(obj[0], 0x6b);
}

/* By either function while the object waits, or when it has waited. */
TEST_F(DebugTest, RcuDoubleFreeNamesBoth)
{
	for (auto again : {slab_free_rcu, slab_free})
		for (bool has_waited : {false, true}) {
			test_cache cache(64, all_debug_flags, with_rcu());
			void *obj = slab_alloc(cache);

			reports_.clear();
			in_thread("frees", slab_free_rcu, cache, obj);
			EXPECT_EQ(has_waited ? slab_rcu_barrier(cache) : 0, 0);
			in_thread("frees again", again, cache, hidden(obj));
			expect_problem(SLAB_PROBLEM_DOUBLE_FREE, "Object already free");
			EXPECT_STREQ(reported().info.freed.thread, "frees");
			EXPECT_STREQ(reported().info.detected.thread, "frees again");
			expect_contained(cache, 1);
		}
}

TEST_F(DebugTest, RcuFreeOfADamagedObjectIsReportedAtOnce)
{
	test_cache cache(64, all_debug_flags, with_rcu());
	char *obj = hidden(slab_alloc(cache));

	obj[64] = 0;
	slab_free_rcu(cache, hidden(obj));
	expect_damage(SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone overwritten", obj + 64, obj + 64,
		      0x00, 0xcc, 2);
}

TEST_F(DebugTest, RcuDamageWhileItWaitsIsReportedWithItsFree)
{
	test_cache cache(64, all_debug_flags, with_rcu());
	char *obj = hidden(slab_alloc(cache));

	urcu_bp_flavor.read_lock();
	in_thread("frees", slab_free_rcu, cache, obj);
	obj[64] = 0;
	urcu_bp_flavor.read_unlock();
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	expect_damage(SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone overwritten", obj + 64, obj + 64,
		      0x00, 0xcc, 2);
	EXPECT_STREQ(reported().info.detected.thread, "frees");
}

TEST_F(DebugTest, RcuFreeInACacheWithoutRcuIsReported)
{
	test_cache cache(64);
	void *obj = slab_alloc(cache);
	char reason[100];

	slab_free_rcu(cache, obj);
	snprintf(reason, sizeof(reason), "slab_free_rcu(%p) in a cache without args.rcu", obj);
	expect_problem(SLAB_PROBLEM_INVALID_POINTER, reason);
	EXPECT_EQ(stats_of(cache).objects, 1u);
	slab_free(cache, obj);
}

TEST_F(DebugTest, RcuFreesAcrossASwitchOfDebugFlags)
{
	test_cache cache(64, 0, with_rcu());
	void *objs[2000];

	for (void *&obj : objs)
		obj = slab_alloc(cache);
	for (int i = 0; i < 1000; i++)
		slab_free_rcu(cache, objs[i]);
	ASSERT_EQ(slab_cache_debug(cache, all_debug_flags), 0);
	for (int i = 1000; i < 2000; i++)
		slab_free_rcu(cache, objs[i]);
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_EQ(stats_of(cache).objects, 0u);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

/*
 * slab_free_rcu() of what is no object of its cache, beside objects of every kind: it is
 * reported, and nothing is freed, neither at once nor after a grace period.
 */

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

/* libslab's declarations of a flavour have the layout of those in liburcu's headers. */

#define EXPECT_SAME_PLACE(member)                                                                  \
	EXPECT_EQ(offsetof(struct rcu_functions, member),                                          \
		  offsetof(struct rcu_flavor_struct, member))

TEST(RcuFlavorTest, FunctionsAreWhereLiburcuHasThem)
{
	EXPECT_SAME_PLACE(read_lock);
	EXPECT_SAME_PLACE(read_unlock);
	EXPECT_SAME_PLACE(read_ongoing);
	EXPECT_SAME_PLACE(read_quiescent_state);
	EXPECT_SAME_PLACE(update_call_rcu);
	EXPECT_SAME_PLACE(update_synchronize_rcu);
	EXPECT_SAME_PLACE(update_defer_rcu);
	EXPECT_SAME_PLACE(thread_offline);
	EXPECT_SAME_PLACE(thread_online);
	EXPECT_SAME_PLACE(register_thread);
	EXPECT_SAME_PLACE(unregister_thread);
}

TEST(RcuFlavorTest, CallbackHasTheSizeOfAnRcuHead)
{
	EXPECT_EQ(sizeof(struct rcu_callback), sizeof(struct rcu_head));
	EXPECT_EQ(offsetof(struct rcu_callback, func), offsetof(struct rcu_head, func));
}

} // namespace
