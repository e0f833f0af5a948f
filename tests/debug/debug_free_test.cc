/* SPDX-License-Identifier: MIT */
/*
 * Frees that cannot be done in caches with debug flags: each is reported with what the
 * pointer is instead, changes nothing, and an object that is not freed is never handed out
 * again. Leaks: debug_layout_test.cc.
 */
#include "../support/symbolized.h"
#include "entry_report.h"

namespace
{

void in_thread(const char *name, const std::function<void()> &act)
{
	std::thread([&] {
		pthread_setname_np(pthread_self(), name);
		act();
	}).join();
}

/* --- wrong frees of an entry --------------------------------------------------------- */

struct wrong_free {
	const char *name;
	bool older; /* allocated before the cache had debug flags */
	bool freed; /* already */
	long at;    /* where the pointer points, from the object */
};

void PrintTo(const wrong_free &wrong, std::ostream *out)
{
	*out << wrong.name;
}

class WrongFreeOfAnEntry : public DebugTest, public testing::WithParamInterface<wrong_free>
{
};

INSTANTIATE_TEST_SUITE_P(Frees, WrongFreeOfAnEntry,
			 testing::Values(wrong_free{"DoubleFree", false, true, 0},
					 wrong_free{"PointerIntoTheObject", false, false, 24},
					 wrong_free{"PointerIntoTheRedZone", false, false, -8},
					 wrong_free{"DoubleFreeOfAnOlderObject", true, true, 0},
					 wrong_free{"PointerIntoAnOlderObject", true, false, 8}),
			 [](const auto &info) { return std::string(info.param.name); });

/* In the first slab of a cache without debug flags. */
std::size_t objects_of_64_bytes()
{
	return (std::size_t{1} << slab_choose_small_shift(64)) / 64;
}

/* The lines of a report about an older entry, which holds 0x55, with another one allocated. */
std::string older_entry(bool freed)
{
	return "Detected in F by T\nSlab SLAB objects=" + std::to_string(objects_of_64_bytes()) +
	       " used=" + (freed ? "1" : "2") + " flags=-\nObject OBJ @offset=0 size=64\n\n" +
	       rows("Object", 0, "55*64");
}

TEST_P(WrongFreeOfAnEntry, IsReportedAndChangesNothing)
{
	const wrong_free &wrong = GetParam();
	const entry state = wrong.freed ? entry::free : entry::allocated;
	const std::string pointer =
		wrong.at ? (wrong.at > 0 ? "OBJ+" : "OBJ") + std::to_string(wrong.at) : "OBJ";
	test_cache cache(64, wrong.older ? 0 : all_debug_flags);
	static_cast<struct slab_cache *>(cache)->coloured = false;
	const place entry(slab_alloc(cache));
	void *other = wrong.older ? slab_alloc(cache) : nullptr;

	if (wrong.older) {
		std::memset(entry.object, 0x55, 64);
		ASSERT_EQ(slab_cache_debug(cache, all_debug_flags), 0);
	}
	if (wrong.freed)
		slab_free(cache, hidden(entry.object));
	slab_free(cache, hidden(entry.object + wrong.at));
	expect_problem(wrong.freed ? SLAB_PROBLEM_DOUBLE_FREE : SLAB_PROBLEM_INVALID_POINTER,
		       reported().reason);
	EXPECT_EQ(reported().info.object, entry.object);
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache,
		       wrong.freed ? "Object already free" : "Invalid object pointer " + pointer) +
			  (wrong.freed ? ""
				       : "It points " + std::to_string(wrong.at) +
						 " bytes from the start of an object\n") +
			  (wrong.older ? older_entry(wrong.freed)
				       : entry_lines(state) + entry_dump(state)) +
			  fix(cache, "Object at " + pointer + " not freed"));
	EXPECT_EQ(stats_of(cache).objects, !wrong.freed + !!other);
	if (!wrong.freed)
		slab_free(cache, entry.object);
	slab_free(cache, other);
	expect_contained(cache, 1);
}

/* --- double free ------------------------------------------------------------------ */

TEST_F(DebugTest, DoubleFreeByAnotherThreadNamesBoth)
{
	test_cache cache(64, all_debug_flags);
	void *obj = nullptr;

	in_thread("allocates", [&] { obj = slab_alloc(cache); });
	in_thread("frees", [&] { slab_free(cache, hidden(obj)); });
	in_thread("frees again", [&] { slab_free(cache, hidden(obj)); });
	expect_problem(SLAB_PROBLEM_DOUBLE_FREE, "Object already free");
	EXPECT_STREQ(reported().info.allocated.thread, "allocates");
	EXPECT_STREQ(reported().info.freed.thread, "frees");
	EXPECT_STREQ(reported().info.detected.thread, "frees again");
	EXPECT_NE(reported().text.find("(frees again)\n"), std::string::npos);
	expect_contained(cache, 1);
}

TEST_F(DebugTest, EveryFurtherFreeIsReported)
{
	test_cache cache(64, SLAB_CONSISTENCY_CHECKS);
	void *obj = slab_alloc(cache);

	slab_free(cache, hidden(obj));
	void *twice[2] = {obj, obj};
	slab_free_bulk(cache, 2, twice);
	slab_free(cache, hidden(obj));
	EXPECT_EQ(reports_.problems(), std::vector<enum slab_problem>(3, SLAB_PROBLEM_DOUBLE_FREE));
	expect_contained(cache, 3);
}

TEST_F(DebugTest, DoubleFreeBySizeIsReported)
{
	struct slab_cache *cache = cache_of_size(48);
	flagged on(cache, all_debug_flags);
	char *memory = hidden(slab_malloc(40));

	slab_mfree(hidden(memory));
	slab_mfree(hidden(memory));
	expect_problem(SLAB_PROBLEM_DOUBLE_FREE, "Object already free");
	EXPECT_EQ(reported().cache, "size-48");
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

TEST_F(DebugTest, AFreeOfAnObjectThatWasNotFreedIsADoubleFree)
{
	test_cache cache(64, all_debug_flags);
	char *obj = hidden(slab_alloc(cache));

	obj[64] = 0;
	slab_free(cache, hidden(obj));
	slab_free(cache, hidden(obj));
	ASSERT_EQ(reports_.count(), 2u);
	EXPECT_EQ(reports_.last().info.problem, SLAB_PROBLEM_DOUBLE_FREE);
	expect_never_again(cache, obj);
	expect_contained(cache, 2);
}

/* Objects of legacy slabs: allocated before there were debug flags. */

TEST_F(DebugTest, DoubleFreeIsReportedWhenTheFirstFreeWasBeforeTheDebugFlags)
{
	test_cache cache(64);
	std::vector<void *> objs = alloc_many(cache, 3);

	slab_free(cache, hidden(objs[0]));
	slab_free(cache, hidden(objs[1]));
	ASSERT_EQ(slab_cache_debug(cache, all_debug_flags), 0);
	slab_free(cache, hidden(objs[1]));
	slab_free(cache, hidden(objs[0]));
	EXPECT_EQ(reports_.problems(), std::vector<enum slab_problem>(2, SLAB_PROBLEM_DOUBLE_FREE));
	slab_free(cache, objs[2]);
	expect_contained(cache, 2);
}

/* The first free is still in another CPU's array when the debug flags come. */
TEST_F(DebugTest, DoubleFreeIsReportedWhenTheFirstFreeIsStillInAnArray)
{
	test_cache cache(64);

	pin(0);
	std::vector<void *> objs = alloc_many(cache, 3);
	const std::uint64_t before =
		stats_of(cache).cpu_objects; /* a refill moved some to the array */
	std::thread([&] {
		pin(1);
		slab_free(cache, hidden(objs[0]));
	}).join();
	unpin();
	EXPECT_EQ(stats_of(cache).cpu_objects - before, 1u);
	ASSERT_EQ(slab_cache_debug(cache, all_debug_flags), 0);
	slab_free(cache, hidden(objs[0]));
	expect_problem(SLAB_PROBLEM_DOUBLE_FREE, "Object already free");
	slab_free(cache, objs[1]);
	slab_free(cache, objs[2]);
	expect_contained(cache, 1);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 0u);
}

/* --- pointers into objects, and between them ------------------------------------------ */

TEST_F(DebugTest, PointerBehindTheLastObjectIsReported)
{
	test_cache cache(64, all_debug_flags);
	const place entry(slab_alloc(cache));

	slab_free(cache, hidden(entry.rest() + 16));
	EXPECT_EQ(entry.normalised(reported().text),
		  head(cache, "Invalid object pointer OBJ+65472") +
			  "Detected in F by T\n"
			  "Slab SLAB objects=682 used=1 fp=OBJ+96 flags=FZPU\n" +
			  fix(cache, "Object at OBJ+65472 not freed"));
	slab_free(cache, entry.object);
	expect_contained(cache, 1);
}

/* Not handed out yet: no caller can have it. */
TEST_F(DebugTest, ObjectThatWasNeverAllocatedIsADoubleFree)
{
	test_cache cache(64, all_debug_flags);
	const place entry(slab_alloc(cache));

	slab_free(cache, hidden(entry.object + 96));
	expect_problem(SLAB_PROBLEM_DOUBLE_FREE, "Object already free");
	slab_free(cache, entry.object);
	expect_contained(cache, 1);
}

TEST_F(DebugTest, ObjectOfASlabThatWentBackIsReported)
{
	test_cache cache(64, all_debug_flags);
	void *obj = slab_alloc(cache);

	slab_free(cache, hidden(obj));
	ASSERT_GT(slab_cache_shrink(cache), 0);
	slab_free(cache, hidden(obj));
	EXPECT_EQ(reported().info.problem, SLAB_PROBLEM_INVALID_POINTER);
	EXPECT_NE(reported().text.find("\nNo cache has a slab there"), std::string::npos)
		<< reported().text;
	expect_contained(cache, 1);
}

/* --- other caches, other memory --------------------------------------------------------- */

TEST_F(DebugTest, ObjectOfAnotherCacheIsReported)
{
	for (std::uint64_t owners : {std::uint64_t{0}, all_debug_flags}) {
		test_cache owner(64, owners);
		test_cache wrong(64, all_debug_flags);
		char *obj = hidden(slab_alloc(owner));

		reports_.clear();
		std::memset(obj, 0x55, 64);
		slab_free(wrong, hidden(obj));
		expect_problem(SLAB_PROBLEM_WRONG_CACHE, "Wrong slab cache. " + wrong.name() +
								 " but object is from " +
								 owner.name());
		EXPECT_EQ(
			place(obj).normalised(reported().text),
			head(wrong, reported().reason) + "Detected in F by T\n" +
				(owners ? std::string(
						  "Slab SLAB objects=682 used=1 fp=OBJ+96 flags=FZPU\n")
					: "Slab SLAB objects=" +
						  std::to_string(objects_of_64_bytes()) + " used=" +
						  std::to_string(slab_used(slab_of(obj))) +
						  " flags=-\n") +
				fix(wrong, "Object at OBJ not freed"));
		EXPECT_TRUE(all_bytes(obj, 64, 0x55));
		EXPECT_EQ(stats_of(owner).objects, 1u);
		slab_free(owner, obj);
		expect_contained(wrong, 1);
	}
}

TEST_F(DebugTest, MemoryBySizeIsAnotherCaches)
{
	test_cache cache(64, all_debug_flags);
	void *memory = slab_malloc(64);

	slab_free(cache, hidden(memory));
	expect_problem(SLAB_PROBLEM_WRONG_CACHE,
		       "Wrong slab cache. " + cache.name() + " but object is from size-64");
	slab_mfree(memory);
	expect_contained(cache, 1);
}

TEST_F(DebugTest, LargeMemoryIsReported)
{
	test_cache cache(64, all_debug_flags);
	char *memory = hidden(slab_malloc(100000));

	slab_free(cache, hidden(memory + 64));
	EXPECT_EQ(reported().info.problem, SLAB_PROBLEM_INVALID_POINTER);
	EXPECT_NE(reported().text.find("\nIt points into 100000 bytes of slab_malloc() at "),
		  std::string::npos)
		<< reported().text;
	slab_mfree(memory);
	expect_contained(cache, 1);
}

/* A file of `bytes` bytes, mapped beyond its end. */
class file_mapping
{
public:
	file_mapping(std::size_t file, std::size_t mapped) : size_(mapped)
	{
		const int fd = memfd_create("mapping", 0);
		const std::vector<char> content(file, 'A');

		EXPECT_EQ(write(fd, content.data(), file), static_cast<ssize_t>(file));
		start_ = static_cast<char *>(mmap(nullptr, mapped, PROT_READ, MAP_PRIVATE, fd, 0));
		close(fd);
	}

	~file_mapping() { munmap(start_, size_); }

	char *at(std::size_t offset) const { return start_ + offset; }

private:
	char *start_;
	std::size_t size_;
};

TEST_F(DebugTest, MemoryThatIsNotLibslabsIsReported)
{
	const std::size_t mib = 1 << 20;
	test_cache cache(64, all_debug_flags);
	void *heap = std::malloc(64);
	char stack[64];
	const file_mapping text(12 * mib, 12 * mib), beyond(4096, 12 * mib);
	const std::vector<char *> pointers = {
		hidden(heap),        hidden(stack),
		hidden(nullptr) + 8, reinterpret_cast<char *>(UINTPTR_MAX - 7),
		text.at(10 * mib),   beyond.at(10 * mib),
		hidden(stdout),
	};

	for (char *pointer : pointers) {
		char number[40];

		reports_.clear();
		std::snprintf(number, sizeof(number), "%p", static_cast<void *>(pointer));
		slab_free(cache, hidden(pointer));
		expect_problem(SLAB_PROBLEM_NOT_A_SLAB, std::string("Attempt to free object ") +
								number + " outside of slab");
		EXPECT_EQ(lines_with(reported().text, "Detected in "), 1u);
		EXPECT_EQ(lines_with(reported().text, "Slab 0x"), 0u);
		EXPECT_NE(reported().text.find(
				  fix(cache, std::string("Object at ") + number + " not freed")),
			  std::string::npos);
	}
	std::free(heap);
	expect_contained(cache, static_cast<unsigned>(pointers.size()));
}

TEST_F(DebugTest, ForeignPointersInABulkAreReported)
{
	test_cache cache(64, all_debug_flags);
	std::vector<void *> objs = alloc_many(cache, 4);
	char stack[64];

	objs.insert(objs.begin() + 2, hidden(stack));
	objs.insert(objs.begin() + 1, hidden(objs[0]) + 8);
	slab_free_bulk(cache, objs.size(), objs.data());
	EXPECT_EQ(reports_.problems(), (std::vector<enum slab_problem>{SLAB_PROBLEM_INVALID_POINTER,
								       SLAB_PROBLEM_NOT_A_SLAB}));
	EXPECT_EQ(stats_of(cache).objects, 0u);
	expect_contained(cache, 2);
}

/* --- sizes ---------------------------------------------------------------------------- */

TEST_F(DebugTest, WrongSizeIsReported)
{
	struct slab_cache *cache = cache_of_size(48);
	const std::uint64_t errors = stats_of(cache).errors;
	flagged on(cache, all_debug_flags);
	char *memory = hidden(slab_malloc(40));

	slab_free_sized(hidden(memory), 41);
	expect_problem(SLAB_PROBLEM_WRONG_SIZE, "Wrong size 41 freed, object has 40");
	EXPECT_EQ(reported().cache, "size-48");
	EXPECT_EQ(reported().info.object, memory);
	EXPECT_EQ(reported().info.object_size, 40u);
	EXPECT_EQ(stats_of(cache).errors, errors + 1);
	EXPECT_EQ(stats_of(cache).objects, 1u);
	slab_free_sized(memory, 40);
	EXPECT_EQ(stats_of(cache).objects, 0u);
	EXPECT_EQ(reports_.count(), 1u);
}

TEST_F(DebugTest, WrongSizeOfMemoryWithoutDebugFlagsIsReported)
{
	struct slab_cache *cache = cache_of_size(48);
	char *memory = hidden(slab_malloc(40));

	slab_free_sized(hidden(memory), 49);
	expect_problem(SLAB_PROBLEM_WRONG_SIZE, "Wrong size 49 freed, object has 48");
	slab_free_sized(memory, 48);
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

TEST_F(DebugTest, WrongSizeOfLargeMemoryIsReported)
{
	void *memory = slab_malloc(100000);

	slab_free_sized(hidden(memory), 1000000);
	EXPECT_EQ(reported().info.problem, SLAB_PROBLEM_WRONG_SIZE);
	EXPECT_EQ(reported().cache, "slab_malloc");
	slab_free_sized(memory, 100000);
	EXPECT_EQ(reports_.count(), 1u);
}

/* One misuse, one report. */
TEST_F(DebugTest, SizedFreeOfNoObjectIsReportedOnce)
{
	flagged on(cache_of_size(48), all_debug_flags);
	char *memory = hidden(slab_malloc(40));
	char stack[64];

	slab_free_sized(hidden(stack), 40);
	slab_free_sized(memory + 8, 40);
	EXPECT_EQ(reports_.problems(),
		  (std::vector<enum slab_problem>{SLAB_PROBLEM_NOT_A_SLAB,
						  SLAB_PROBLEM_INVALID_POINTER}));
	slab_free_sized(memory, 40);
	EXPECT_EQ(reports_.count(), 2u);
}

} /* namespace */
