/* SPDX-License-Identifier: MIT */
/*
 * Damage to slabs with debug flags: each kind of it is found where it is
 * looked for (validation, allocation, free), reported as a whole and as a struct,
 * counted once, and put right or taken out of use, so that the program goes on.
 */
#include "entry_report.h"

namespace
{

/* --- bytes that must hold a value: red zones, padding, poison ---------------------- */

struct damage {
	const char *name;
	long at;    /* from the object */
	const char *bytes; /* what is written there */
	enum slab_problem problem;
	const char *region; /* as reports call it */
};

void PrintTo(const damage &damage, std::ostream *out)
{
	*out << damage.name;
}

/* A row of a table: an entry, allocated or free, some bytes of whose place are overwritten. */
class EntryTest : public DebugTest, public testing::WithParamInterface<damage>
{
protected:
	void overwrite(const place &entry) const
	{
		const std::vector<unsigned char> bytes = bytes_of(damage_.bytes);

		std::memcpy(entry.object + damage_.at, bytes.data(), bytes.size());
	}

	/* The damage is reported, as a struct and as text with `lines` before the dump, and
	 * mended. */
	void expect_mended(const place &where, entry state, const std::string &lines,
			   const std::string &consequence = "")
	{
		const std::string region = damage_.region, reason = region + " overwritten";
		const std::vector<unsigned char> bytes = bytes_of(damage_.bytes);
		const char *first = where.object + damage_.at, *last = first + bytes.size() - 1;
		const unsigned expected =
			entry_bytes(state)[static_cast<std::size_t>(first - where.start)];
		const std::string range =
			distance(first - where.object) + "-" + distance(last - where.object);
		char line[80];

		expect_damage(damage_.problem, reason, first, last, bytes[0], expected,
			      consequence.empty() ? 1 : 2);
		std::snprintf(line, sizeof(line),
			      " @offset=%ld. First byte 0x%02x instead of 0x%02x\n",
			      first - where.slab->base, bytes[0], expected);
		EXPECT_EQ(where.normalised(reported().text),
			  head(where.cache(), reason) + range + line + lines +
				  entry_dump(state, damage_.at, damage_.bytes) +
				  fix(where.cache(),
				      "Restoring " + region + " " + range + "=" + hex(expected)) +
				  (consequence.empty() ? "" : fix(where.cache(), consequence)));
		EXPECT_EQ(std::vector<unsigned char>(where.start, where.end), entry_bytes(state));
	}

	const damage &damage_ = GetParam();
	test_cache cache_{64, all_debug_flags};
	const place entry_{slab_alloc(cache_)};

private:
	static std::string distance(long bytes)
	{
		return (bytes > 0 ? "OBJ+" : "OBJ") + std::to_string(bytes);
	}

	static std::string hex(unsigned byte)
	{
		char text[8];

		std::snprintf(text, sizeof(text), "0x%02x", byte);
		return text;
	}
};

const auto name_of = [](const testing::TestParamInfo<damage> &info) {
	return std::string(info.param.name);
};

class AllocatedEntryTest : public EntryTest
{
};

INSTANTIATE_TEST_SUITE_P(
	Damage, AllocatedEntryTest,
	testing::Values(damage{"Underflow", -3, "01 02", SLAB_PROBLEM_LEFT_REDZONE, "Left Redzone"},
			damage{"Overflow", 64, "12", SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone"},
			damage{"ObjectPadding", 79, "07", SLAB_PROBLEM_OBJECT_PADDING,
			       "Object padding"}),
	name_of);

TEST_P(AllocatedEntryTest, ValidationFindsTheDamage)
{
	overwrite(entry_);
	EXPECT_EQ(slab_cache_validate(cache_), 1);
	expect_mended(entry_, entry::allocated, entry_lines(entry::allocated));
	expect_contained(cache_, 1);
	slab_free(cache_, entry_.object);
}

/* A damaged object is not freed, and never handed out again. */
TEST_P(AllocatedEntryTest, TheFreeFindsTheDamage)
{
	overwrite(entry_);
	slab_free(cache_, hidden(entry_.object));
	expect_mended(entry_, entry::allocated, entry_lines(entry::allocated),
		      "Object at OBJ not freed");
	expect_never_again(cache_, entry_.object);
	expect_contained(cache_, 1);
}

class FreeEntryTest : public EntryTest
{
};

INSTANTIATE_TEST_SUITE_P(
	Damage, FreeEntryTest,
	testing::Values(damage{"LeftRedZone", -16, "00", SLAB_PROBLEM_LEFT_REDZONE, "Left Redzone"},
			damage{"RightRedZone", 71, "cc", SLAB_PROBLEM_RIGHT_REDZONE,
			       "Right Redzone"},
			damage{"UseAfterFree", 20, "61 62 63", SLAB_PROBLEM_POISON, "Poison"},
			damage{"UseAfterFreeOfTheLastByte", 63, "6b", SLAB_PROBLEM_END_POISON,
			       "End Poison"}),
	name_of);

TEST_P(FreeEntryTest, ValidationFindsTheDamage)
{
	slab_free(cache_, hidden(entry_.object));
	overwrite(entry_);
	EXPECT_EQ(slab_cache_validate(cache_), 1);
	expect_mended(entry_, entry::free, entry_lines(entry::free));
	expect_contained(cache_, 1);
}

/* Allocation takes the whole slab out of use, and serves from another. */
TEST_P(FreeEntryTest, TheAllocationFindsTheDamage)
{
	const place next(entry_.object + 96);

	overwrite(next);
	void *obj = slab_alloc(cache_);
	ASSERT_NE(obj, nullptr);
	EXPECT_NE(slab_of(obj), entry_.slab);
	expect_mended(next, entry::free,
		      "object allocation stack trace missing\n"
		      "Detected in F by T\n"
		      "Slab SLAB objects=682 used=1 fp=OBJ+96 flags=FZPU\n"
		      "Object OBJ @offset=112 fp=NULL size=64\n\n",
		      "Marking all objects used");
	slab_free(cache_, entry_.object);
	for (void *other : alloc_many(cache_, 3000)) {
		EXPECT_NE(slab_of(other), entry_.slab);
		slab_free(cache_, other);
	}
	slab_free(cache_, obj);
	expect_contained(cache_, 1);
}

/* Two damaged regions are two problems, in one validation. */
TEST_F(DebugTest, EveryDamageIsReported)
{
	test_cache cache(64, all_debug_flags);
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
	flagged on(cache, SLAB_RED_ZONE | SLAB_STORE_USER);
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

TEST_F(DebugTest, AnOverflowIsReportedBeforeTheMemoryGrowsOverIt)
{
	struct slab_cache *cache = cache_of_size(32);
	flagged on(cache, SLAB_RED_ZONE | SLAB_STORE_USER);
	const place memory(slab_malloc(18));

	memory.object[18] = 0x12;
	EXPECT_EQ(slab_realloc(memory.object, 24), memory.object);
	expect_damage(SLAB_PROBLEM_MALLOC_REDZONE, "slab_malloc Redzone overwritten",
		      memory.object + 18, memory.object + 18, 0x12, RED_ACTIVE);
	EXPECT_EQ(reported().info.object_size, 18u);
	EXPECT_EQ(slab_usable_size(memory.object), 24u);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	slab_mfree(memory.object);
}

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
	test_cache cache(64, all_debug_flags);
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

/* --- freelists and counts ------------------------------------------------------------ */

/* The lines about a slab, with an entry allocated in it. */
struct wrong_record {
	const char *name;
	void (*make_wrong)(const place &entry);
	enum slab_problem problem;
	const char *reason, *slab, *fix;
	unsigned allocated; /* objects afterwards */
};

void PrintTo(const wrong_record &wrong, std::ostream *out)
{
	*out << wrong.name;
}

class SlabRecordTest : public DebugTest, public testing::WithParamInterface<wrong_record>
{
};

INSTANTIATE_TEST_SUITE_P(
	Wrong, SlabRecordTest,
	testing::Values(
		wrong_record{"FreelistThatLeadsNowhere",
			     [](const place &entry) { entry.debug->first = 60000; },
			     SLAB_PROBLEM_FREELIST, "Freepointer corrupt",
			     "objects=682 used=1 fp=NULL", "Freelist cleared", 682},
		wrong_record{"ObjectCount", [](const place &entry) { entry.debug->used = 5; },
			     SLAB_PROBLEM_COUNT,
			     "Wrong object count. Counter is 5 but counted were 1",
			     "objects=682 used=5 fp=OBJ+96", "Object count adjusted", 1},
		wrong_record{
			"NumberOfObjects", [](const place &entry) { entry.slab->objects = 700; },
			SLAB_PROBLEM_COUNT, "Wrong number of objects. Found 700 but should be 682",
			"objects=700 used=1 fp=OBJ+96", "Number of objects adjusted", 1},
		wrong_record{"NumberOfObjectsThatWereMade",
			     [](const place &entry) { entry.slab->initialized = 60000; },
			     SLAB_PROBLEM_COUNT, "inuse 60000 > max 682",
			     "objects=682 used=1 fp=OBJ+96", "Object count adjusted", 1}),
	[](const auto &info) { return std::string(info.param.name); });

TEST_P(SlabRecordTest, ValidationMendsIt)
{
	const wrong_record &wrong = GetParam();
	test_cache cache(64, all_debug_flags);
	const place entry(slab_alloc(cache));

	wrong.make_wrong(entry);
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_problem(wrong.problem, wrong.reason);
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache, wrong.reason) + "Detected in F by T\nSlab SLAB " + wrong.slab +
			  " flags=FZPU\n" + fix(cache, wrong.fix));
	EXPECT_EQ(entry.slab->objects, 682);
	EXPECT_EQ(entry.slab->initialized, 682);
	EXPECT_EQ(stats_of(cache).objects, wrong.allocated);
	slab_free(cache, entry.object);
	expect_contained(cache, 1);
}

TEST_F(DebugTest, ObjectCountBeyondTheSlabIsFound)
{
	test_cache cache(64, all_debug_flags);
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

TEST_F(DebugTest, FreechainIsChecked)
{
	test_cache cache(64, all_debug_flags);
	const place kept(slab_alloc(cache)), next(kept.object + 96);

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
			  entry_dump(entry::free));
	EXPECT_EQ(next.normalised(reports_.report(1).text),
		  head(cache, "Wrong object count. Counter is 1 but counted were 681") +
			  "Detected in F by T\n"
			  "Slab SLAB objects=682 used=1 fp=OBJ flags=FZPU\n" +
			  fix(cache, "Object count adjusted"));
	slab_free(cache, kept.object);
	expect_contained(cache, 2);
}

TEST_F(DebugTest, FreechainInACircleIsFound)
{
	test_cache cache(64, all_debug_flags);
	const place entry(slab_alloc(cache)), third(entry.object + 2 * 96);

	third.record()->next = 2; /* the second: the first that is free */
	EXPECT_EQ(slab_cache_validate(cache), 2);
	EXPECT_EQ(reports_.report(0).reason, "Freechain corrupt");
	slab_free(cache, entry.object);
	expect_contained(cache, 2);
}

/* The end is not compared with anything: a check of a sound freelist sets it. */
TEST_F(DebugTest, AValidationFindsTheEndOfTheFreelist)
{
	test_cache cache(64, all_debug_flags);
	const place entry(slab_alloc(cache));
	struct slab_debug *debug = slab_of(entry.object)->debug;
	const std::uint16_t last = debug->last;

	ASSERT_NE(last, 0u);
	debug->last = 0;
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(debug->last, last);
	slab_free(cache, entry.object);
}

TEST_F(DebugTest, AllocationFindsAFreelistThatLeadsNowhere)
{
	test_cache cache(64, all_debug_flags);
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
	test_cache cache(64, all_debug_flags);
	char *obj = hidden(slab_alloc(cache));

	obj[64] = 1;
	slab_free(cache, obj);
	std::puts("lived on");
	std::fflush(stdout);
}

} /* namespace */
