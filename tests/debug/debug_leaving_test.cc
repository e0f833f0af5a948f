/* SPDX-License-Identifier: MIT */
/*
 * Writes to freed objects that no allocation would come upon: in slabs that are released to the
 * page layer, and in caches with a constructor, whose objects are compared with a copy.
 */
#include <future>

#include "../support/debugging.h"

namespace
{

/* Two entries of one slab, the first of which is freed and then written to. */
class LeavingTest : public DebugTest
{
protected:
	explicit LeavingTest(const struct slab_cache_args *args = nullptr)
		: cache_(64, all_debug_flags, args), entry_(slab_alloc(cache_)),
		  other_(hidden(slab_alloc(cache_)))
	{
		EXPECT_EQ(slab_of(other_), entry_.slab);
		slab_free(cache_, entry_.object);
	}

	void expect_found(const std::string &reason, unsigned expected, const std::string &body,
			  const std::string &fixed, unsigned found = 0x11)
	{
		expect_damage(SLAB_PROBLEM_POISON, reason + " overwritten", entry_.object + 5,
			      entry_.object + 6, found, expected);
		EXPECT_EQ(entry_.normalised(reported().text),
			  head(cache_, reason + " overwritten") +
				  "OBJ+5-OBJ+6 @offset=21. First byte 0x11 instead of " +
				  hex(expected) +
				  "\nAllocated in F age=N by T\n"
				  "Freed in F age=N by T\n"
				  "Detected in F by T\n"
				  "Slab SLAB objects=682 used=0 fp=OBJ+192 flags=FZPU\n"
				  "Object OBJ @offset=16 fp=OBJ+96 size=64\n\n" +
				  rows("Redzone", -16, "bb*16") + rows("Object", 0, body) +
				  rows("Redzone", 64, "bb*8") + rows("Padding", 72, "5a*8") +
				  fix(cache_, "Restoring " + reason + " OBJ+5-OBJ+6" + fixed));
		EXPECT_EQ(stats_of(cache_).errors, 1u);
		EXPECT_EQ(stats_of(cache_).slabs, 0u);
	}

	void write_after_free()
	{
		entry_.object[5] = 0x11;
		entry_.object[6] = 0x12;
	}

	void shrink_after_a_write()
	{
		slab_free(cache_, other_);
		write_after_free();
		EXPECT_EQ(slab_cache_shrink(cache_), 1);
	}

	static std::string hex(unsigned byte)
	{
		char text[8];

		std::snprintf(text, sizeof(text), "0x%02x", byte);
		return text;
	}

	test_cache cache_;
	const place entry_;
	char *other_;
};

TEST_F(LeavingTest, TheFreeThatEmptiesTheSlabFindsThem)
{
	ASSERT_EQ(slab_stat_write(cache_, "min_partial", 0), 0);
	write_after_free();
	slab_free(cache_, other_);
	expect_found("Poison", 0x6b, "6b*5 11 12 6b*56 a5", "=0x6b");
}

TEST_F(LeavingTest, AShrinkFindsThem)
{
	shrink_after_a_write();
	expect_found("Poison", 0x6b, "6b*5 11 12 6b*56 a5", "=0x6b");
}

TEST_F(LeavingTest, SwitchingTheDebugFlagsOffFindsThem)
{
	slab_free(cache_, other_);
	write_after_free();
	EXPECT_EQ(slab_cache_debug(cache_, 0), 0);
	ASSERT_EQ(reports_.count(), 1u);
	EXPECT_EQ(reported().reason, "Poison overwritten");
	EXPECT_EQ(reported().info.first, entry_.object + 5);
}

TEST_F(LeavingTest, DestructionFindsThem)
{
	struct slab_cache *cache = slab_cache_create("leaving", 64, nullptr, all_debug_flags);
	char *obj = hidden(slab_alloc(cache));

	slab_free(cache, obj);
	obj[0] = 1;
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	EXPECT_EQ(reported().reason, "Poison overwritten");
	EXPECT_EQ(reported().info.first, obj);
	slab_free(cache_, other_);
}

TEST_F(LeavingTest, WritesAroundAFreeObjectAreFoundToo)
{
	slab_free(cache_, other_);
	entry_.object[-1] = 0x11;
	EXPECT_EQ(slab_cache_shrink(cache_), 1);
	expect_damage(SLAB_PROBLEM_LEFT_REDZONE, "Left Redzone overwritten", entry_.object - 1,
		      entry_.object - 1, 0x11, RED_INACTIVE);
}

TEST_F(LeavingTest, WithoutDamageNothingIsReported)
{
	slab_free(cache_, other_);
	EXPECT_EQ(slab_cache_shrink(cache_), 1);
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

/* A report is the application's code: no lock that a fork takes is held. */
class ForkingHandlerTest : public LeavingTest
{
protected:
	static void fork_in_handler(const struct slab_report *, void *failure)
	{
		*static_cast<std::string *>(failure) = run_in_child_now([] { return 0; });
	}

	/* In a child: what remains locked in this thread stays locked. */
	void expect_that_a_fork_comes_back(const std::function<void()> &release)
	{
		const std::string failure = run_in_child([&] {
			std::string in_child = "nothing was reported";

			slab_set_report_handler(fork_in_handler, &in_child);
			slab_free(cache_, other_);
			write_after_free();
			release();
			return in_child.empty() ? 0 : 1;
		});

		EXPECT_EQ(failure, "");
		slab_free(cache_, other_);
	}
};

TEST_F(ForkingHandlerTest, InAShrink)
{
	expect_that_a_fork_comes_back([this] { slab_cache_shrink(cache_); });
}

TEST_F(ForkingHandlerTest, WhenDebugFlagsAreSwitchedOff)
{
	expect_that_a_fork_comes_back([this] { slab_cache_debug(cache_, 0); });
}

TEST_F(ForkingHandlerTest, InADestruction)
{
	expect_that_a_fork_comes_back([this] { slab_cache_destroy(cache_); });
}

/* --- constructed objects ---------------------------------------------------------------- */

const struct slab_cache_args *constructed()
{
	static const struct slab_cache_args args = [] {
		struct slab_cache_args with = {};

		with.ctor = [](void *obj, void *) {
			std::memset(obj, 0x77, 64);
			return 0;
		};
		with.dtor = [](void *obj, void *) {
			EXPECT_TRUE(all_bytes(static_cast<char *>(obj), 64, 0x77));
		};
		return with;
	}();

	return &args;
}

class ConstructedTest : public LeavingTest
{
protected:
	ConstructedTest() : LeavingTest(constructed()) {}

	/* Allocated until the damaged one comes. */
	void allocate_all_of_the_slab()
	{
		for (unsigned i = 0; i < entry_.slab->objects; i++)
			objs_.push_back(slab_alloc(cache_));
	}

	std::vector<void *> objs_;
};

TEST_F(ConstructedTest, AShrinkFindsWritesAfterTheFree)
{
	shrink_after_a_write();
	expect_found("Free object", 0x77, "77*5 11 12 77*57", "");
}

TEST_F(ConstructedTest, ValidationFindsThemAndRestoresTheObject)
{
	write_after_free();
	EXPECT_EQ(slab_cache_validate(cache_), 1);
	expect_damage(SLAB_PROBLEM_POISON, "Free object overwritten", entry_.object + 5,
		      entry_.object + 6, 0x11, 0x77);
	EXPECT_TRUE(all_bytes(entry_.object, 64, 0x77));
	EXPECT_EQ(slab_cache_validate(cache_), 0);
	slab_free(cache_, other_);
}

TEST_F(ConstructedTest, AllocationFindsThemAndTheObjectIsNotHandedOut)
{
	write_after_free();
	allocate_all_of_the_slab();
	expect_damage(SLAB_PROBLEM_POISON, "Free object overwritten", entry_.object + 5,
		      entry_.object + 6, 0x11, 0x77, 2);
	for (void *obj : objs_) {
		EXPECT_NE(obj, entry_.object);
		EXPECT_TRUE(all_bytes(static_cast<char *>(obj), 64, 0x77));
		slab_free(cache_, obj);
	}
	slab_free(cache_, other_);
}

/* A write to an object that was never allocated. */
TEST_F(ConstructedTest, WritesBeforeTheFirstAllocationAreFound)
{
	other_[96] = 1;
	EXPECT_EQ(slab_cache_validate(cache_), 1);
	expect_damage(SLAB_PROBLEM_POISON, "Free object overwritten", other_ + 96, other_ + 96, 1,
		      0x77);
	slab_free(cache_, other_);
}

/* What its user leaves in it is its content from then on, not what the constructor made. */
TEST_F(ConstructedTest, WhatIsFreedIsTheStateThatIsKept)
{
	std::memset(other_, 0x55, 64);
	slab_free(cache_, other_);
	EXPECT_EQ(slab_cache_validate(cache_), 0);
	other_[63] = 0x54;
	EXPECT_EQ(slab_cache_validate(cache_), 1);
	expect_damage(SLAB_PROBLEM_POISON, "Free object overwritten", other_ + 63, other_ + 63,
		      0x54, 0x55);
	slab_free(cache_, [&] {
		for (;;) {
			char *obj = static_cast<char *>(slab_alloc(cache_));

			objs_.push_back(obj);
			if (obj == other_)
				break;
		}
		objs_.pop_back();
		std::memset(other_, 0x77, 64);
		return other_;
	}());
	for (void *obj : objs_)
		slab_free(cache_, obj);
}

/*
 * Double frees that are found when objects of arrays return to their slabs: they take nothing from
 * the other objects, and they are reported with no lock held.
 */

void validate(struct slab_cache *cache)
{
	EXPECT_EQ(slab_cache_validate(cache), 1);
}

void shrink(struct slab_cache *cache)
{
	EXPECT_GE(slab_cache_shrink(cache), 0);
}

void switch_on(struct slab_cache *cache)
{
	EXPECT_EQ(slab_cache_debug(cache, all_debug_flags), 0);
}

/* More objects than arrays and magazines take. */
void free_until_arrays_are_full(struct slab_cache *cache)
{
	free_many(cache, alloc_many(cache, 20000));
	shrink(cache);
}

/* How objects return to their slabs. */
struct way {
	const char *name;
	void (*act)(struct slab_cache *);
};

std::ostream &operator<<(std::ostream &out, const way &w)
{
	return out << w.name;
}

class LateFreeTest : public DebugTest, public testing::WithParamInterface<way>
{
};

/* Free one of them twice, with another free in between: the array's newest object is another
 * one. */
void free_twice(struct slab_cache *cache, std::vector<void *> &objs)
{
	slab_free(cache, hidden(objs[0]));
	slab_free(cache, hidden(objs[1]));
	slab_free(cache, hidden(objs[0]));
	objs.erase(objs.begin(), objs.begin() + 2);
}

/* All objects are distinct, and none is missing. */
void expect_whole(struct slab_cache *cache, std::vector<void *> &objs)
{
	const std::vector<void *> more = alloc_many(cache, 3000);

	objs.insert(objs.end(), more.begin(), more.end());
	EXPECT_TRUE(all_distinct(objs));
	EXPECT_EQ(stats_of(cache).objects, objs.size());
	EXPECT_EQ(slab_cache_validate(cache), 0);
	free_many(cache, objs);
	EXPECT_EQ(stats_of(cache).objects, 0u);
	EXPECT_GE(slab_cache_shrink(cache), 0);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
}

TEST_P(LateFreeTest, TheOtherObjectsStay)
{
	test_cache cache(64);
	std::vector<void *> objs = alloc_many(cache, 500);

	free_twice(cache, objs);
	ASSERT_EQ(reports_.count(), 0u);
	GetParam().act(cache);
	EXPECT_EQ(reported().info.problem, SLAB_PROBLEM_DOUBLE_FREE);
	expect_whole(cache, objs);
	EXPECT_EQ(slab_cache_debug(cache, 0), 0);
	objs = alloc_many(cache, 500);
	expect_whole(cache, objs);
	EXPECT_EQ(reports_.count(), 1u) << reports_.text();
}

/* The last object of its slab: the slab goes with the first of the two. */
TEST_P(LateFreeTest, NothingOfTheSlabStays)
{
	test_cache cache(64);
	std::vector<void *> objs = alloc_many(cache, 2);

	free_twice(cache, objs);
	GetParam().act(cache);
	EXPECT_EQ(reported().info.problem, SLAB_PROBLEM_DOUBLE_FREE);
	expect_whole(cache, objs);
	EXPECT_EQ(reports_.count(), 1u) << reports_.text();
}

/* What a handler of reports may do with the cache. A lock that is held makes it wait for ever. */
void use(struct slab_cache *cache)
{
	struct slab_stats stats = {};
	void *objs[64];

	slab_free(cache, slab_alloc(cache));
	slab_free_bulk(cache, slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 64, objs), objs);
	slab_cache_shrink(cache);
	slab_cache_debug(cache, SLAB_RED_ZONE);
	slab_free(cache, slab_alloc(cache));
	slab_cache_debug(cache, 0);
	slab_cache_validate(cache);
	stats.struct_size = sizeof(stats);
	slab_cache_stats(cache, &stats);
	slab_cache_destroy(slab_cache_create("handler", 64, nullptr, 0));
}

unsigned handled;

void use_in_handler(const struct slab_report *report, void *arg)
{
	auto *cache = static_cast<struct slab_cache *>(arg);
	std::future<void> other = std::async(std::launch::async, use, cache);

	EXPECT_EQ(report->problem, SLAB_PROBLEM_DOUBLE_FREE);
	handled++;
	if (other.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
		std::fputs("libslab holds a lock\n", stderr);
		std::abort();
	}
	use(cache);
}

TEST_P(LateFreeTest, IsReportedWithoutALock)
{
	test_cache cache(64);
	std::vector<void *> objs = alloc_many(cache, 500);

	handled = 0;
	slab_set_report_handler(use_in_handler, static_cast<struct slab_cache *>(cache));
	free_twice(cache, objs);
	GetParam().act(cache);
	slab_set_report_handler(nullptr, nullptr);
	EXPECT_EQ(handled, 1u);
	EXPECT_EQ(slab_cache_debug(cache, 0), 0);
	expect_whole(cache, objs);
}

INSTANTIATE_TEST_SUITE_P(Ways, LateFreeTest,
			 testing::Values(way{"Validation", validate}, way{"Shrink", shrink},
					 way{"SwitchedOn", switch_on},
					 way{"FullArrays", free_until_arrays_are_full}),
			 testing::PrintToStringParamName());

/* Only an earlier object at this address can have got into the array. */
TEST_F(DebugTest, AnObjectOfADebugSlabStaysInUseWhenAnArrayHasItsAddress)
{
	test_cache cache(64);
	struct slab_cache *c = cache;

	slab_free(cache, slab_alloc(cache)); /* now the array takes objects */
	switch_on(cache);
	void *obj = slab_alloc(cache);
	ASSERT_EQ(cpu_engine->push(&c->arrays, obj), CPU_DONE);
	EXPECT_EQ(slab_cache_validate(cache), 1);
	const caught_report report = reported();
	EXPECT_EQ(report.info.problem, SLAB_PROBLEM_DOUBLE_FREE);
	EXPECT_NE(report.text.find("\nIts slab has left the cache: its objects were all freed\n"),
		  std::string::npos)
		<< report.text;
	EXPECT_EQ(stats_of(cache).objects, 1u);
	slab_free(cache, obj);
	EXPECT_EQ(reports_.count(), 1u) << reports_.text();
}

} /* namespace */
