/* SPDX-License-Identifier: MIT */
/*
 * Damage to slabs with debug letters: each kind of it is found where it is
 * looked for (validation, allocation, free), reported as a whole and as a struct,
 * counted once, and put right or taken out of use, so that the program goes on.
 *
 * An "entry" of 64 bytes with all letters stands so in its slab:
 *   16 bytes red zone | object | 8 bytes red zone | 8 bytes padding
 * and 682 of them leave 64 bytes of the slab.
 */
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <slab/debug.h>
#include <slab/malloc.h>
#include <slab/slab.h>

#include "../support/debugging.h"
#include "../support/process.h"

using namespace slab_test;

namespace
{

constexpr std::uint64_t all_letters = SLAB_DEBUG_DEFAULT;

/* What a report says of an allocated entry, the first of its slab. */
const char allocated_entry[] = "Allocated in F age=N by T\n"
			       "Detected in F by T\n"
			       "Slab SLAB objects=682 used=1 fp=OBJ+96 flags=FZPU\n"
			       "Object OBJ @offset=16 fp=NULL size=64\n\n";
/* The same when it is free again, and the last of the freelist. */
const char free_entry[] = "Allocated in F age=N by T\n"
			  "Freed in F age=N by T\n"
			  "Detected in F by T\n"
			  "Slab SLAB objects=682 used=0 fp=OBJ+96 flags=FZPU\n"
			  "Object OBJ @offset=16 fp=NULL size=64\n\n";

/* --- red zones -------------------------------------------------------------------- */

TEST_F(DebugTest, LeftRedZoneIsChecked)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache));

	entry.object[-3] = 1;
	entry.object[-2] = 2;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_damage(SLAB_PROBLEM_LEFT_REDZONE, "Left Redzone overwritten", entry.object - 3,
		      entry.object - 2, 1, RED_ACTIVE);
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache, "Left Redzone overwritten") +
			  "OBJ-3-OBJ-2 @offset=13. First byte 0x01 instead of 0xcc\n" +
			  allocated_entry + rows("Redzone", -16, "cc*13 01 02 cc") +
			  rows("Object", 0, "6b*63 a5") + rows("Redzone", 64, "cc*8") +
			  rows("Padding", 72, "5a*8") +
			  fix(cache, "Restoring Left Redzone OBJ-3-OBJ-2=0xcc"));
	EXPECT_TRUE(all_bytes(entry.start, 16, RED_ACTIVE));
	expect_contained(cache, 1);
	slab_free(cache, entry.object);
}

TEST_F(DebugTest, RightRedZoneIsChecked)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache));

	entry.object[64] = 0x12;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_damage(SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone overwritten", entry.object + 64,
		      entry.object + 64, 0x12, RED_ACTIVE);
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache, "Right Redzone overwritten") +
			  "OBJ+64-OBJ+64 @offset=80. First byte 0x12 instead of 0xcc\n" +
			  allocated_entry + rows("Redzone", -16, "cc*16") +
			  rows("Object", 0, "6b*63 a5") + rows("Redzone", 64, "12 cc*7") +
			  rows("Padding", 72, "5a*8") +
			  fix(cache, "Restoring Right Redzone OBJ+64-OBJ+64=0xcc"));
	EXPECT_TRUE(all_bytes(entry.object + 64, 8, RED_ACTIVE));
	expect_contained(cache, 1);
	slab_free(cache, entry.object);
}

TEST_F(DebugTest, RedZonesOfFreeObjectsAreChecked)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache));

	slab_free(cache, hidden(entry.object));
	entry.object[-16] = 0;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_damage(SLAB_PROBLEM_LEFT_REDZONE, "Left Redzone overwritten", entry.start,
		      entry.start, 0, RED_INACTIVE);
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache, "Left Redzone overwritten") +
			  "OBJ-16-OBJ-16 @offset=0. First byte 0x00 instead of 0xbb\n" +
			  free_entry + rows("Redzone", -16, "00 bb*15") +
			  rows("Object", 0, "6b*63 a5") + rows("Redzone", 64, "bb*8") +
			  rows("Padding", 72, "5a*8") +
			  fix(cache, "Restoring Left Redzone OBJ-16-OBJ-16=0xbb"));
	expect_contained(cache, 1);
}

TEST_F(DebugTest, AnObjectWithADamagedRedZoneIsNotFreed)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache));

	entry.object[64] = 0x12;
	slab_free(cache, hidden(entry.object));
	expect_damage(SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone overwritten", entry.object + 64,
		      entry.object + 64, 0x12, RED_ACTIVE, 2);
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache, "Right Redzone overwritten") +
			  "OBJ+64-OBJ+64 @offset=80. First byte 0x12 instead of 0xcc\n" +
			  allocated_entry + rows("Redzone", -16, "cc*16") +
			  rows("Object", 0, "6b*63 a5") + rows("Redzone", 64, "12 cc*7") +
			  rows("Padding", 72, "5a*8") +
			  fix(cache, "Restoring Right Redzone OBJ+64-OBJ+64=0xcc") +
			  fix(cache, "Object at OBJ not freed"));
	expect_never_again(cache, entry.object);
	expect_contained(cache, 1);
}

/* Two damaged regions are two problems, in one validation. */
TEST_F(DebugTest, EveryDamageIsReported)
{
	test_cache cache(64, all_letters);
	const place one(slab_alloc(cache)), other(slab_alloc(cache));

	one.object[-1] = one.object[64] = other.object[71] = 0;
	EXPECT_EQ(slab_cache_validate(cache), 3);
	EXPECT_EQ(reports_.problems(),
		  (std::vector<enum slab_problem>{SLAB_PROBLEM_LEFT_REDZONE,
						  SLAB_PROBLEM_RIGHT_REDZONE,
						  SLAB_PROBLEM_RIGHT_REDZONE}));
	expect_contained(cache, 3);
	slab_free(cache, one.object);
	slab_free(cache, other.object);
}

TEST_F(DebugTest, RedZoneFollowsTheSizeThatWasAskedFor)
{
	struct slab_cache *cache = cache_of_size(32);
	const std::uint64_t errors = stats_of(cache).errors;
	lettered on(cache, SLAB_RED_ZONE | SLAB_STORE_USER);
	const place memory(slab_malloc(18));

	std::memset(memory.object, 0x55, 18);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	memory.object[18] = 0x12;
	memory.object[19] = 0x34;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_damage(SLAB_PROBLEM_MALLOC_REDZONE, "slab_malloc Redzone overwritten",
		      memory.object + 18, memory.object + 19, 0x12, RED_ACTIVE);
	EXPECT_EQ(reported().info.object_size, 18u);
	EXPECT_EQ(memory.normalised(reported().text),
		  head(cache, "slab_malloc Redzone overwritten") +
			  "OBJ+18-OBJ+19 @offset=50. First byte 0x12 instead of 0xcc\n"
			  "Allocated in F age=N by T\n"
			  "Detected in F by T\n"
			  "Slab SLAB objects=682 used=1 fp=OBJ+96 flags=ZU\n"
			  "Object OBJ @offset=32 fp=NULL size=32 requested=18\n\n" +
			  rows("Redzone", -16, "cc*16") + rows("Object", 0, "55*18 12 34 cc*12") +
			  rows("Redzone", 32, "cc*32") +
			  fix(cache, "Restoring slab_malloc Redzone OBJ+18-OBJ+19=0xcc"));
	EXPECT_EQ(stats_of(cache).errors, errors + 1);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	slab_mfree(memory.object);
}

/* --- padding ----------------------------------------------------------------------- */

TEST_F(DebugTest, AlignmentPaddingIsChecked)
{
	test_cache cache(61, SLAB_POISON);
	const place entry(slab_alloc(cache));

	entry.object[62] = 7;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_damage(SLAB_PROBLEM_ALIGNMENT_PADDING, "Alignment padding overwritten",
		      entry.object + 62, entry.object + 62, 7, POISON_INUSE);
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache, "Alignment padding overwritten") +
			  "OBJ+62-OBJ+62 @offset=62. First byte 0x07 instead of 0x5a\n"
			  "Detected in F by T\n"
			  "Slab SLAB objects=1024 used=1 fp=OBJ+64 flags=P\n"
			  "Object OBJ @offset=0 fp=NULL size=61\n\n" +
			  rows("Object", 0, "6b*60 a5") + rows("Padding", 61, "5a 07 5a") +
			  fix(cache, "Restoring Alignment padding OBJ+62-OBJ+62=0x5a"));
	expect_contained(cache, 1);
	slab_free(cache, entry.object);
}

TEST_F(DebugTest, ObjectPaddingIsChecked)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache));

	entry.object[79] = 7;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_damage(SLAB_PROBLEM_OBJECT_PADDING, "Object padding overwritten", entry.object + 79,
		      entry.object + 79, 7, POISON_INUSE);
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache, "Object padding overwritten") +
			  "OBJ+79-OBJ+79 @offset=95. First byte 0x07 instead of 0x5a\n" +
			  allocated_entry + rows("Redzone", -16, "cc*16") +
			  rows("Object", 0, "6b*63 a5") + rows("Redzone", 64, "cc*8") +
			  rows("Padding", 72, "5a*7 07") +
			  fix(cache, "Restoring Object padding OBJ+79-OBJ+79=0x5a"));
	expect_contained(cache, 1);
	slab_free(cache, entry.object);
}

TEST_F(DebugTest, PaddingOfAlignmentIsCheckedWithoutRedZones)
{
	struct slab_cache_args args = {};

	args.align = 64;
	test_cache cache(40, SLAB_POISON, &args);
	const place entry(slab_alloc(cache));

	entry.object[40] = entry.object[63] = 7;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_damage(SLAB_PROBLEM_OBJECT_PADDING, "Object padding overwritten", entry.object + 40,
		      entry.object + 63, 7, POISON_INUSE);
	EXPECT_TRUE(all_bytes(entry.object + 40, 24, POISON_INUSE));
	expect_contained(cache, 1);
	slab_free(cache, entry.object);
}

TEST_F(DebugTest, SlabPaddingIsChecked)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache));
	char *last = entry.slab_end() - 1;

	ASSERT_EQ(last - entry.rest(), 63);
	*last = 7;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_damage(SLAB_PROBLEM_SLAB_PADDING, "Padding overwritten", last, last, 7,
		      POISON_INUSE);
	EXPECT_EQ(reported().info.object, nullptr);
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache, "Padding overwritten") +
			  "OBJ+65519-OBJ+65519 @offset=65535. First byte 0x07 instead of 0x5a\n"
			  "Detected in F by T\n"
			  "Slab SLAB objects=682 used=1 fp=OBJ+96 flags=FZPU\n" +
			  rows("Padding", 65488, "5a*31 07") + "Padding  ... 32 bytes more\n" +
			  fix(cache, "Restoring Padding OBJ+65519-OBJ+65519=0x5a"));
	EXPECT_TRUE(all_bytes(entry.rest(), 64, POISON_INUSE));
	expect_contained(cache, 1);
	slab_free(cache, entry.object);
}

/* --- poison ------------------------------------------------------------------------ */

TEST_F(DebugTest, PoisonIsChecked)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache));

	slab_free(cache, hidden(entry.object));
	std::memcpy(entry.object + 20, "abc", 3);
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_damage(SLAB_PROBLEM_POISON, "Poison overwritten", entry.object + 20,
		      entry.object + 22, 'a', POISON_FREE);
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache, "Poison overwritten") +
			  "OBJ+20-OBJ+22 @offset=36. First byte 0x61 instead of 0x6b\n" +
			  free_entry + rows("Redzone", -16, "bb*16") +
			  rows("Object", 0, "6b*20 61 62 63 6b*40 a5") +
			  rows("Redzone", 64, "bb*8") + rows("Padding", 72, "5a*8") +
			  fix(cache, "Restoring Poison OBJ+20-OBJ+22=0x6b"));
	EXPECT_TRUE(all_bytes(entry.object, 63, POISON_FREE));
	expect_contained(cache, 1);
}

TEST_F(DebugTest, EndPoisonIsChecked)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache));

	slab_free(cache, hidden(entry.object));
	entry.object[63] = POISON_FREE;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_damage(SLAB_PROBLEM_END_POISON, "End Poison overwritten", entry.object + 63,
		      entry.object + 63, POISON_FREE, POISON_END);
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache, "End Poison overwritten") +
			  "OBJ+63-OBJ+63 @offset=79. First byte 0x6b instead of 0xa5\n" +
			  free_entry + rows("Redzone", -16, "bb*16") + rows("Object", 0, "6b*64") +
			  rows("Redzone", 64, "bb*8") + rows("Padding", 72, "5a*8") +
			  fix(cache, "Restoring End Poison OBJ+63-OBJ+63=0xa5"));
	expect_contained(cache, 1);
}

/* Allocation takes the whole slab out of use, and serves from another. */
TEST_F(DebugTest, AllocationFindsAFreeObjectThatWasWrittenTo)
{
	test_cache cache(64, all_letters);
	const place kept(slab_alloc(cache)), next(kept.object + 96);

	next.object[5] = 0;
	void *obj = slab_alloc(cache);
	ASSERT_NE(obj, nullptr);
	EXPECT_NE(slab_of(obj), kept.slab);
	expect_damage(SLAB_PROBLEM_POISON, "Poison overwritten", next.object + 5, next.object + 5,
		      0, POISON_FREE, 2);
	EXPECT_EQ(next.normalised(reported().text),
		  head(cache, "Poison overwritten") +
			  "OBJ+5-OBJ+5 @offset=117. First byte 0x00 instead of 0x6b\n"
			  "object allocation stack trace missing\n"
			  "Detected in F by T\n"
			  "Slab SLAB objects=682 used=1 fp=OBJ+96 flags=FZPU\n"
			  "Object OBJ @offset=112 fp=NULL size=64\n\n" +
			  rows("Redzone", -16, "bb*16") + rows("Object", 0, "6b*5 00 6b*57 a5") +
			  rows("Redzone", 64, "bb*8") + rows("Padding", 72, "5a*8") +
			  fix(cache, "Restoring Poison OBJ+5-OBJ+5=0x6b") +
			  fix(cache, "Marking all objects used"));
	slab_free(cache, kept.object);
	for (void *other : alloc_many(cache, 3000)) {
		EXPECT_NE(slab_of(other), kept.slab);
		slab_free(cache, other);
	}
	slab_free(cache, obj);
	expect_contained(cache, 1);
}

/* --- freelist ------------------------------------------------------------------------ */

TEST_F(DebugTest, FreechainIsChecked)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache)), next(entry.object + 96);

	next.record()->next = 683;
	EXPECT_EQ(slab_cache_validate(cache), 2);
	EXPECT_EQ(reports_.problems(),
		  (std::vector<enum slab_problem>{SLAB_PROBLEM_FREELIST, SLAB_PROBLEM_COUNT}));
	EXPECT_EQ(next.normalised(reports_.report(0).text),
		  head(cache, "Freechain corrupt") +
			  "object allocation stack trace missing\n"
			  "Detected in F by T\n"
			  "Slab SLAB objects=682 used=1 fp=OBJ flags=FZPU\n"
			  "Object OBJ @offset=112 fp=NULL size=64\n\n" +
			  rows("Redzone", -16, "bb*16") + rows("Object", 0, "6b*63 a5") +
			  rows("Redzone", 64, "bb*8") + rows("Padding", 72, "5a*8"));
	EXPECT_EQ(next.normalised(reports_.report(1).text),
		  head(cache, "Wrong object count. Counter is 1 but counted were 681") +
			  "Detected in F by T\n"
			  "Slab SLAB objects=682 used=1 fp=OBJ flags=FZPU\n" +
			  fix(cache, "Object count adjusted"));
	slab_free(cache, entry.object);
	expect_contained(cache, 2);
}

TEST_F(DebugTest, FreechainInACircleIsFound)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache)), third(entry.object + 2 * 96);

	third.record()->next = 2; /* the second: the first that is free */
	EXPECT_EQ(slab_cache_validate(cache), 2);
	EXPECT_EQ(reports_.report(0).reason, "Freechain corrupt");
	slab_free(cache, entry.object);
	expect_contained(cache, 2);
}

TEST_F(DebugTest, FreelistThatLeadsNowhereIsCleared)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache));

	entry.debug->first = 60000;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_problem(SLAB_PROBLEM_FREELIST, "Freepointer corrupt");
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache, "Freepointer corrupt") +
			  "Detected in F by T\n"
			  "Slab SLAB objects=682 used=1 fp=NULL flags=FZPU\n" +
			  fix(cache, "Freelist cleared"));
	slab_free(cache, entry.object);
	expect_contained(cache, 1);
}

TEST_F(DebugTest, AllocationFindsAFreelistThatLeadsNowhere)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache));

	entry.debug->first = 1; /* this object, which is allocated */
	void *obj = slab_alloc(cache);
	ASSERT_NE(obj, nullptr);
	EXPECT_NE(slab_of(obj), entry.slab);
	expect_problem(SLAB_PROBLEM_FREELIST, "Freepointer corrupt");
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache, "Freepointer corrupt") +
			  "Detected in F by T\n"
			  "Slab SLAB objects=682 used=1 fp=OBJ flags=FZPU\n" +
			  fix(cache, "Marking all objects used"));
	slab_free(cache, obj);
	slab_free(cache, entry.object);
	expect_contained(cache, 1);
}

/* --- counts ------------------------------------------------------------------------- */

TEST_F(DebugTest, ObjectCountIsChecked)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache));

	entry.debug->used = 5;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_problem(SLAB_PROBLEM_COUNT, "Wrong object count. Counter is 5 but counted were 1");
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache, "Wrong object count. Counter is 5 but counted were 1") +
			  "Detected in F by T\n"
			  "Slab SLAB objects=682 used=5 fp=OBJ+96 flags=FZPU\n" +
			  fix(cache, "Object count adjusted"));
	EXPECT_EQ(stats_of(cache).objects, 1u);
	slab_free(cache, entry.object);
	expect_contained(cache, 1);
}

TEST_F(DebugTest, ObjectCountBeyondTheSlabIsFound)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache));

	entry.debug->used = 700;
	EXPECT_EQ(slab_cache_validate(cache), 2);
	EXPECT_EQ(reports_.report(0).info.problem, SLAB_PROBLEM_COUNT);
	EXPECT_EQ(reports_.report(0).reason, "inuse 700 > max 682");
	EXPECT_EQ(reports_.report(1).reason,
		  "Wrong object count. Counter is 682 but counted were 1");
	slab_free(cache, entry.object);
	expect_contained(cache, 2);
}

TEST_F(DebugTest, NumberOfObjectsIsChecked)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache));

	entry.slab->objects = 700;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_problem(SLAB_PROBLEM_COUNT, "Wrong number of objects. Found 700 but should be 682");
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache, "Wrong number of objects. Found 700 but should be 682") +
			  "Detected in F by T\n"
			  "Slab SLAB objects=700 used=1 fp=OBJ+96 flags=FZPU\n" +
			  fix(cache, "Number of objects adjusted"));
	EXPECT_EQ(entry.slab->objects, 682);
	slab_free(cache, entry.object);
	expect_contained(cache, 1);
}

TEST_F(DebugTest, NumberOfObjectsThatWereMadeIsChecked)
{
	test_cache cache(64, all_letters);
	const place entry(slab_alloc(cache));

	entry.slab->carved = 60000;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_problem(SLAB_PROBLEM_COUNT, "inuse 60000 > max 682");
	EXPECT_EQ(entry.slab->carved, 682);
	EXPECT_EQ(stats_of(cache).objects, 1u);
	slab_free(cache, entry.object);
	expect_contained(cache, 1);
}

/* --- the program ---------------------------------------------------------------------- */

TEST_F(DebugTest, DebugAbortEndsTheProgramAfterItsFirstReport)
{
	if (!running_again()) {
		const second_run run = run_again({"SLAB_DEBUG_ABORT=1"});

		EXPECT_EQ(run.failure, "killed by signal 6") << run.output;
		EXPECT_NE(run.output.find(": Right Redzone overwritten\n"), std::string::npos)
			<< run.output;
		EXPECT_EQ(run.output.find("lived on"), std::string::npos) << run.output;
		return;
	}
	slab_set_report_handler(nullptr, nullptr);
	test_cache cache(64, all_letters);
	char *obj = hidden(slab_alloc(cache));

	obj[64] = 1;
	slab_free(cache, obj);
	std::puts("lived on");
	std::fflush(stdout);
}

} /* namespace */
