/* SPDX-License-Identifier: MIT */
/*
 * Objects of caches with debug flags as their users see them: where they
 * stand, what is in them, how many bytes they have; for every size, alignment
 * and combination of debug flags.
 */
#include "../support/debugging.h"
#include "../support/symbolized.h"

namespace
{

/* --- where objects stand --------------------------------------------------------------- */

/* Three objects of a cache: aligned, apart, theirs to write, and freed. */
void expect_usable(std::size_t size, std::size_t align, std::uint64_t flags)
{
	struct slab_cache_args args = {};

	args.align = align;
	struct slab_cache *cache = slab_cache_create("layout", size, &args, flags);
	ASSERT_NE(cache, nullptr) << errno;
	std::vector<void *> objs = alloc_many(cache, 3);
	for (std::size_t i = 0; i < objs.size(); i++) {
		ASSERT_TRUE(aligned(objs[i], align));
		fill(objs[i], size, i);
	}
	for (std::size_t i = 0; i < objs.size(); i++)
		ASSERT_TRUE(intact(objs[i], size, i));
	ASSERT_EQ(slab_cache_validate(cache), 0);
	free_many(cache, objs);
	ASSERT_EQ(slab_cache_validate(cache), 0);
	ASSERT_EQ(slab_cache_destroy(cache), 0);
}

TEST_F(DebugTest, ObjectsOfEverySizeCanBeUsed)
{
	for (std::size_t size : all_sizes()) {
		SCOPED_TRACE(size);
		for (std::uint64_t flags : all_layouts())
			expect_usable(size, 8, flags);
		if (HasFatalFailure())
			return;
	}
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

TEST_F(DebugTest, ObjectsOfEveryAlignmentCanBeUsed)
{
	for (std::size_t align = 8; align <= 4096; align *= 2)
		for (std::size_t size : {1, 7, 8, 24, 64, 65, 300, 1000, 4096, 5000, 32768})
			for (std::uint64_t flags : all_layouts()) {
				SCOPED_TRACE(testing::Message()
					     << size << ' ' << align << ' ' << flags);
				expect_usable(size, align, flags);
				if (HasFatalFailure())
					return;
			}
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

TEST_F(DebugTest, AllObjectsOfASlabAreApart)
{
	for (std::size_t size : {5, 64, 200, 4096})
		for (std::uint64_t flags : all_layouts()) {
			test_cache cache(size, flags);
			std::vector<void *> objs = alloc_many(cache, 1000);

			ASSERT_TRUE(all_distinct(objs));
			for (std::size_t i = 0; i < objs.size(); i++)
				fill(objs[i], size, i);
			for (std::size_t i = 0; i < objs.size(); i++)
				ASSERT_TRUE(intact(objs[i], size, i));
			EXPECT_EQ(slab_cache_validate(cache), 0);
			free_many(cache, objs);
		}
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

/* A byte before and behind each object is watched over, whatever the size. */
TEST_F(DebugTest, TheBytesBesideAnObjectAreItsRedZones)
{
	for (std::size_t size = 1; size <= 130; size++) {
		test_cache cache(size, SLAB_RED_ZONE);
		char *obj = hidden(slab_alloc(cache));

		reports_.clear();
		obj[-1] = obj[size] = obj[size + 7] = 0;
		EXPECT_EQ(slab_cache_validate(cache), 2);
		EXPECT_EQ(reports_.problems(),
			  (std::vector<enum slab_problem>{SLAB_PROBLEM_LEFT_REDZONE,
							  SLAB_PROBLEM_RIGHT_REDZONE}));
		EXPECT_EQ(reports_.last().info.last, obj + size + 7);
		slab_free(cache, obj);
	}
}

/* --- what is in them --------------------------------------------------------------------- */

TEST_F(DebugTest, AnAllocatedObjectIsPoisoned)
{
	for (std::uint64_t flags : all_layouts()) {
		test_cache cache(100, flags | SLAB_POISON);
		char *obj = hidden(slab_alloc(cache));

		EXPECT_TRUE(all_bytes(obj, 99, POISON_FREE));
		EXPECT_EQ(obj[99], static_cast<char>(POISON_END));
		std::memset(obj, 1, 100);
		slab_free(cache, hidden(obj));
		EXPECT_TRUE(all_bytes(obj, 99, POISON_FREE));
		EXPECT_EQ(obj[99], static_cast<char>(POISON_END));
	}
}

TEST_F(DebugTest, AnObjectIsNotTouchedWithoutPoison)
{
	test_cache cache(100, SLAB_RED_ZONE | SLAB_STORE_USER | SLAB_CONSISTENCY_CHECKS);
	char *obj = hidden(slab_alloc(cache));

	std::memset(obj, 1, 100);
	slab_free(cache, hidden(obj));
	EXPECT_TRUE(all_bytes(obj, 100, 1));
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

/* The object freed longest ago comes first, so that poison has time. */
TEST_F(DebugTest, FreedObjectsAreUsedAgainLate)
{
	test_cache cache(100, SLAB_POISON);
	void *obj = slab_alloc(cache);
	const unsigned room = slab_of(obj)->objects;

	slab_free(cache, hidden(obj));
	const std::vector<void *> objs = alloc_many(cache, room);
	EXPECT_EQ(objs.back(), obj);
	EXPECT_TRUE(all_distinct(objs));
	free_many(cache, objs);
}

TEST_F(DebugTest, ZeroedObjectsAreZero)
{
	for (std::uint64_t flags : all_layouts()) {
		test_cache cache(100, flags), zero(100, flags | SLAB_ZERO);
		void *objs[4] = {slab_zalloc(cache), slab_alloc(zero), slab_alloc_node(zero, 0),
				 nullptr};

		ASSERT_EQ(slab_alloc_bulk(zero, SLAB_ALLOC_FULL, 1, &objs[3]), 1u);
		for (void *obj : objs) {
			EXPECT_TRUE(all_bytes(obj, 100, 0)) << flags;
			std::memset(obj, 1, 100);
		}
		slab_free(cache, objs[0]);
		slab_free_bulk(zero, 3, objs + 1);
		EXPECT_EQ(slab_cache_validate(cache) + slab_cache_validate(zero), 0);
	}
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

TEST_F(DebugTest, CallocIsZeroAndMemoryIsPoisonedToItsSize)
{
	flagged on(cache_of_size(64), all_debug_flags);
	char *zero = hidden(slab_calloc(5, 11)), *poisoned = hidden(slab_malloc(50));
	char *none = hidden(slab_malloc(49));

	EXPECT_TRUE(all_bytes(zero, 55, 0));
	EXPECT_TRUE(all_bytes(zero + 55, 9, RED_ACTIVE));
	EXPECT_TRUE(all_bytes(poisoned, 49, POISON_FREE));
	EXPECT_EQ(poisoned[49], static_cast<char>(POISON_END));
	EXPECT_EQ(slab_cache_validate(cache_of_size(64)), 0);
	slab_mfree(zero);
	slab_mfree(poisoned);
	slab_mfree(none);
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

TEST_F(DebugTest, ConstructedObjectsKeepTheirState)
{
	for (std::uint64_t flags : all_layouts()) {
		struct slab_cache_args args = {};
		unsigned constructed = 0;

		args.ctor = [](void *obj, void *arg) {
			++*static_cast<unsigned *>(arg);
			fill(obj, 100, 9);
			return 0;
		};
		args.dtor = [](void *obj, void *arg) {
			--*static_cast<unsigned *>(arg);
			EXPECT_TRUE(intact(obj, 100, 9));
		};
		args.arg = &constructed;
		{
			test_cache cache(100, flags, &args);

			for (int round = 0; round < 2; round++) {
				const std::vector<void *> objs = alloc_many(cache, 1000);

				for (void *obj : objs)
					ASSERT_TRUE(intact(obj, 100, 9)) << flags;
				free_many(cache, objs);
			}
			EXPECT_GE(constructed, 1000u);
			EXPECT_EQ(slab_cache_validate(cache), 0);
		}
		EXPECT_EQ(constructed, 0u);
	}
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

TEST_F(DebugTest, AConstructorThatFailsLeavesWhatItMade)
{
	struct slab_cache_args args = {};
	int left = 3;

	args.ctor = [](void *, void *arg) { return (*static_cast<int *>(arg))-- > 0 ? 0 : 1; };
	args.arg = &left;
	test_cache cache(100, all_debug_flags, &args);
	const std::vector<void *> objs = alloc_many(cache, 3);

	errno = 0;
	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	free_many(cache, objs);
}

/* --- sizes ----------------------------------------------------------------------------------- */

TEST_F(DebugTest, UsableIsWhatWasAskedForWhereARedZoneFollows)
{
	for (std::uint64_t flags : all_layouts()) {
		flagged on(cache_of_size(64), flags);
		void *memory = slab_malloc(50);
		const std::size_t usable = slab_usable_size(memory);

		EXPECT_EQ(usable, flags & SLAB_RED_ZONE ? 50u : 64u) << flags;
		std::memset(memory, 1, usable);
		EXPECT_EQ(slab_cache_validate(cache_of_size(64)), 0);
		slab_free_sized(memory, 50);
	}
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

TEST_F(DebugTest, AddressesWithinAnObjectAreReportedBySizeFunctions)
{
	for (std::uint64_t flags : all_layouts()) {
		flagged on(cache_of_size(64), flags);
		char *memory = static_cast<char *>(slab_malloc(50));
		const std::size_t before = reports_.count();

		EXPECT_EQ(slab_usable_size(hidden(memory + 16)), 0u) << flags;
		EXPECT_EQ(slab_realloc(hidden(memory + 16), 200), nullptr) << flags;
		slab_free_sized(hidden(memory + 16), 20);
		EXPECT_EQ(reports_.count(), before + 3) << flags << reports_.text();
		slab_mfree(memory);
	}
}

TEST_F(DebugTest, AlignedMemoryIsAlignedWithDebugFlags)
{
	std::vector<struct slab_cache *> caches;

	for (std::size_t size = 16; size <= 32768; size *= 2)
		caches.push_back(cache_of_size(size));
	for (std::uint64_t flags : all_layouts()) {
		for (struct slab_cache *cache : caches)
			ASSERT_EQ(slab_cache_debug(cache, flags), 0);
		for (std::size_t align = 8; align <= 65536; align *= 2)
			for (std::size_t size : {1, 16, 100, 512, 4096}) {
				void *memory = slab_memalign(align, size);

				ASSERT_TRUE(aligned(memory, align)) << align << ' ' << size;
				fill(memory, size, 1);
				ASSERT_TRUE(intact(memory, size, 1));
				slab_mfree(memory);
			}
	}
	for (struct slab_cache *cache : caches) {
		EXPECT_EQ(slab_cache_validate(cache), 0);
		ASSERT_EQ(slab_cache_debug(cache, 0), 0);
	}
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

/* --- bulk, nodes, shrinking ------------------------------------------------------------------- */

TEST_F(DebugTest, BulkDoesWhatSingleCallsDo)
{
	for (std::uint64_t flags : all_layouts()) {
		test_cache cache(100, flags);
		std::vector<void *> objs(1000);

		ASSERT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 500, objs.data()), 500u);
		ASSERT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_NEW, 500, objs.data() + 500), 500u);
		EXPECT_TRUE(all_distinct(objs));
		for (std::size_t i = 0; i < objs.size(); i++)
			fill(objs[i], 100, i);
		for (std::size_t i = 0; i < objs.size(); i++)
			ASSERT_TRUE(intact(objs[i], 100, i));
		shuffle(objs);
		objs.insert(objs.begin() + 5, nullptr);
		slab_free_bulk(cache, objs.size(), objs.data());
		EXPECT_EQ(stats_of(cache).objects, 0u);
		EXPECT_EQ(slab_cache_validate(cache), 0);
	}
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

TEST_F(DebugTest, NodesAreRespected)
{
	if (!in_environment({"SLAB_FAKE_NODES=3"}))
		return;
	test_cache cache(100, all_debug_flags);

	for (int node : {2, 0, 1, 2}) {
		void *obj = slab_alloc_node(cache, node);

		ASSERT_NE(obj, nullptr);
		EXPECT_EQ(slab_of(obj)->node, node);
		slab_free(cache, obj);
	}
	EXPECT_EQ(stats_of(cache).node_slabs[0], 1u);
	EXPECT_EQ(stats_of(cache).node_slabs[2], 1u);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(slab_cache_shrink(cache), 3);
}

TEST_F(DebugTest, ShrinkingGivesEmptyDebugSlabsBack)
{
	test_cache cache(100, all_debug_flags);
	std::vector<void *> objs = alloc_many(cache, 10000);
	const std::uint64_t slabs = stats_of(cache).debug_slabs;
	void *kept = objs.back();

	objs.pop_back();
	free_many(cache, objs);
	const std::uint64_t empty = stats_of(cache).debug_slabs - 1;
	EXPECT_GT(slabs, empty + 1); /* some went when they became empty */
	EXPECT_EQ(slab_cache_shrink(cache), static_cast<int>(empty));
	EXPECT_EQ(stats_of(cache).debug_slabs, 1u);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	slab_free(cache, kept);
	EXPECT_EQ(slab_cache_shrink(cache), 1);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
}

/* Leaks: objects that remain when a cache with debug flags is destroyed. */

__attribute__((noinline)) void *leak_here(struct slab_cache *cache)
{
	void *obj = slab_alloc(cache);

	__asm__ volatile("" ::: "memory"); /* no call at the end that is a jump */
	return obj;
}

TEST_F(DebugTest, LeaksAreListedWithTheirAllocators)
{
	test_cache cache(64, all_debug_flags);
	std::vector<void *> objs;

	for (volatile int i = 0; i < 3; i = i + 1) /* one loop, one place */
		objs.push_back(leak_here(cache));
	slab_free(cache, hidden(objs[1]));
	objs[1] = slab_alloc(cache);
	EXPECT_EQ(cache.destroy(), -EBUSY);
	expect_problem(SLAB_PROBLEM_LEAK,
		       "Objects remaining in " + cache.name() + " on slab_cache_destroy", 0);
	EXPECT_EQ(reported().info.leaked, 3u);
	EXPECT_EQ(place(objs[0]).normalised(reported().text), head(cache, reported().reason) +
								      "Object OBJ @offset=16\n"
								      "Allocated in F age=N by T\n"
								      "Object OBJ+192 @offset=208\n"
								      "Allocated in F age=N by T\n"
								      "Object OBJ+288 @offset=304\n"
								      "Allocated in F age=N by T\n"
								      "3 objects remain\n"
								      "2 of them allocated by\n"
								      "1 of them allocated by\n");
	std::istringstream in(symbolized(reported().text));
	unsigned named = 0;
	for (std::string line; std::getline(in, line);)
		named += line.find("leak_here+") != std::string::npos &&
			 line.find(" (debug_layout_test.cc:") != std::string::npos;
	/* At each object and in the stack. */
	EXPECT_EQ(named, 3u) << reported().text;
	free_many(cache, objs);
	expect_contained(cache, 1);
}

TEST_F(DebugTest, EveryLeakIsListedOnce)
{
	test_cache cache(64, all_debug_flags);
	const std::vector<void *> objs = alloc_many(cache, 1000);

	EXPECT_EQ(cache.destroy(), -EBUSY);
	EXPECT_GT(reports_.count(), 1u);
	EXPECT_EQ(lines_with(reports_.text(), "Object 0x"), 1000u);
	for (std::size_t i = 0; i < objs.size(); i += 10) {
		char number[40];

		std::snprintf(number, sizeof(number), "Object %p @", objs[i]);
		EXPECT_EQ(lines_with(reports_.text(), number), 1u);
	}
	EXPECT_EQ(reports_.last().info.leaked, 1000u);
	EXPECT_TRUE(reports_.contains("\n1000 objects remain\n"));
	free_many(cache, objs);
	expect_contained(cache, 1);
}

TEST_F(DebugTest, OlderAndYoungerObjectsAreLeaksAlike)
{
	test_cache cache(64);
	void *older = slab_alloc(cache);

	ASSERT_EQ(slab_cache_debug(cache, all_debug_flags), 0);
	void *younger = slab_alloc(cache);
	EXPECT_EQ(cache.destroy(), -EBUSY);
	EXPECT_EQ(reported().info.leaked, 2u);
	EXPECT_EQ(lines_with(reported().text, "Object 0x"), 2u);
	EXPECT_EQ(lines_with(reported().text, "Allocated in "), 1u);
	slab_free(cache, older);
	slab_free(cache, younger);
}

/* What was not freed because it was damaged does not hold a cache back. */
TEST_F(DebugTest, ObjectsThatWereNotFreedAreNoLeaks)
{
	test_cache cache(64, all_debug_flags);
	char *obj = hidden(slab_alloc(cache));

	obj[64] = 0;
	slab_free(cache, obj);
	EXPECT_EQ(reports_.count(), 1u);
	EXPECT_EQ(cache.destroy(), 0);
	EXPECT_EQ(reports_.count(), 1u);
}

} /* namespace */
