/* SPDX-License-Identifier: MIT */
/*
 * Pointers without their cache: whose memory an address is, and one free for all memory of
 * libslab that leaves other memory alone.
 */
#include "../support/rooms.h"
#include "../support/debugging.h"
#include "../support/foreign.h"
#include "../support/units.h"

namespace
{

/* A page right behind a large allocation, in the same segment, as others may map it. */
class Behind
{
public:
	explicit Behind(void *large)
	{
		const struct segment *segment = segment_of(large);

		page_ = mmap(segment_start(large) + segment->mapped, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	}

	~Behind()
	{
		if (page_ != MAP_FAILED)
			munmap(page_, 4096);
	}

	Behind(const Behind &) = delete;
	Behind &operator=(const Behind &) = delete;

	void *get() const { return page_ == MAP_FAILED ? nullptr : page_; }

private:
	void *page_;
};

/* An allocation of one kind, and the cache that it is from. */
struct kind {
	std::string name;
	std::function<void *()> alloc;
	struct slab_cache *cache; /* NULL: large */
};

/* Every kind of memory that libslab has. */
class PointerTest : public testing::Test
{
protected:
	PointerTest()
		: typed_(88), other_(88), zeroed_(64, SLAB_ZERO), hard_(64, SLAB_HARDEN_FREE),
		  flagged_(64, SLAB_DEBUG_DEFAULT), guarded_(64), reserved_(64, 0, reserve()),
		  constructed_(64, 0, constructor())
	{
		EXPECT_EQ(slab_cache_sample(guarded_, 1), 0);
		for (struct slab_cache *cache : {static_cast<struct slab_cache *>(typed_),
						 static_cast<struct slab_cache *>(zeroed_),
						 static_cast<struct slab_cache *>(hard_),
						 static_cast<struct slab_cache *>(flagged_),
						 static_cast<struct slab_cache *>(guarded_),
						 static_cast<struct slab_cache *>(reserved_),
						 static_cast<struct slab_cache *>(constructed_)})
			kinds_.push_back({slab_cache_name(cache),
					  [cache] { return slab_alloc(cache); }, cache});
		for (std::size_t size : {16u, 112u, 4096u, 32768u})
			kinds_.push_back({"size " + std::to_string(size),
					  [size] { return slab_malloc(size); },
					  cache_of_size(size)});
		for (std::size_t size : {std::size_t{40000}, mib, 3 * mib, 40 * mib})
			kinds_.push_back({"size " + std::to_string(size),
					  [size] { return slab_malloc(size); }, nullptr});
		kinds_.push_back(
			{"aligned", [] { return slab_memalign(2 * mib, 5 * mib); }, nullptr});
	}

	~PointerTest() override { EXPECT_EQ(slab_cache_sample(guarded_, 0), 0); }

	static const struct slab_cache_args *reserve()
	{
		static struct slab_cache_args args;

		args.reserve = 4;
		return &args;
	}

	static const struct slab_cache_args *constructor()
	{
		static struct slab_cache_args args;

		args.ctor = [](void *, void *) { return 0; };
		return &args;
	}

	/* The only report, about this pointer, which is still allocated. */
	void expect_refused(void *ptr, enum slab_problem problem)
	{
		report_capture reports;

		EXPECT_TRUE(slab_free_any(hidden(ptr)));
		ASSERT_EQ(reports.count(), 1u) << reports.text();
		EXPECT_EQ(reports.last().info.problem, problem) << reports.text();
	}

	test_cache typed_, other_, zeroed_, hard_, flagged_, guarded_, reserved_, constructed_;
	std::vector<kind> kinds_;
};

TEST_F(PointerTest, OwnsMemoryOfEveryKindAndKnowsItsCache)
{
	for (const kind &kind : kinds_) {
		void *ptr = kind.alloc();

		for (const char *at : {static_cast<char *>(ptr), static_cast<char *>(ptr) + 1}) {
			EXPECT_TRUE(slab_owns(at)) << kind.name;
			EXPECT_EQ(slab_cache_of(at), kind.cache) << kind.name;
		}
		slab_free_any(ptr);
	}
}

/* The caches find out when they are destroyed. */
TEST_F(PointerTest, FreesMemoryOfEveryKind)
{
	const std::size_t large = process_stats().large_bytes;
	report_capture reports;

	for (const kind &kind : kinds_)
		for (int i = 0; i < 100; i++)
			EXPECT_TRUE(slab_free_any(kind.alloc())) << kind.name;
	EXPECT_EQ(process_stats().large_bytes, large);
	for (const kind &kind : kinds_)
		EXPECT_EQ(kind.cache ? stats_of(kind.cache).objects : 0, 0u) << kind.name;
	EXPECT_EQ(reports.count(), 0u) << reports.text();
}

TEST_F(PointerTest, FreesMemoryOfEveryKindInAnyOrder)
{
	std::vector<std::pair<void *, std::size_t>> all;
	report_capture reports;
	std::mt19937 random(1);

	for (std::size_t i = 0; i < 3000; i++) {
		void *ptr = kinds_[random() % kinds_.size()].alloc();

		fill(ptr, 1, i);
		all.emplace_back(ptr, i);
		if (all.size() > 200) {
			std::swap(all[random() % all.size()], all.back());
			EXPECT_TRUE(intact(all.back().first, 1, all.back().second));
			EXPECT_TRUE(slab_free_any(all.back().first));
			all.pop_back();
		}
	}
	for (const auto &one : all)
		EXPECT_TRUE(slab_free_any(one.first));
	EXPECT_EQ(reports.count(), 0u) << reports.text();
	for (const kind &kind : kinds_)
		EXPECT_LE(kind.cache ? slab_cache_validate(kind.cache) : 0, 0) << kind.name;
}

TEST_F(PointerTest, FreesObjectsOfAnotherThread)
{
	for (const kind &kind : kinds_) {
		std::vector<void *> all;

		for (int i = 0; i < 20; i++)
			all.push_back(kind.alloc());
		std::thread([&all] {
			for (void *ptr : all)
				EXPECT_TRUE(slab_free_any(ptr));
		}).join();
		EXPECT_EQ(kind.cache ? stats_of(kind.cache).objects : 0, 0u) << kind.name;
	}
}

/* Objects of slabs with the layout from before the debug flags, and from before they went. */
TEST_F(PointerTest, FreesObjectsFromBeforeASwitchOfDebugFlags)
{
	report_capture reports;
	void *plain = slab_alloc(typed_);

	ASSERT_EQ(slab_cache_debug(typed_, SLAB_DEBUG_DEFAULT), 0);
	void *flagged = slab_alloc(typed_);
	EXPECT_EQ(slab_cache_of(plain), static_cast<struct slab_cache *>(typed_));
	EXPECT_TRUE(slab_free_any(plain));
	ASSERT_EQ(slab_cache_debug(typed_, 0), 0);
	EXPECT_TRUE(slab_free_any(flagged));
	EXPECT_EQ(stats_of(typed_).objects, 0u);
	EXPECT_EQ(reports.count(), 0u) << reports.text();
}

/* Samples of the heap profile have slabs of their own. */
TEST_F(PointerTest, FreesSamplesOfTheHeapProfile)
{
	report_capture reports;

	ASSERT_EQ(slab_set_profile(64), 0);
	for (const kind &kind : kinds_)
		for (int i = 0; i < 20; i++) {
			void *ptr = kind.alloc();

			EXPECT_EQ(slab_cache_of(ptr), kind.cache) << kind.name;
			EXPECT_TRUE(slab_free_any(ptr)) << kind.name;
		}
	ASSERT_EQ(slab_set_profile(0), 0);
	for (const kind &kind : kinds_)
		EXPECT_EQ(kind.cache ? stats_of(kind.cache).objects : 0, 0u) << kind.name;
	EXPECT_EQ(reports.count(), 0u) << reports.text();
}

TEST_F(PointerTest, FreesNothingForNull)
{
	EXPECT_TRUE(slab_free_any(nullptr));
	EXPECT_FALSE(slab_owns(nullptr));
	EXPECT_EQ(slab_cache_of(nullptr), nullptr);
}

TEST_F(PointerTest, LeavesErrnoAlone)
{
	void *memory = std::malloc(100);

	for (const kind &kind : kinds_) {
		void *ptr = kind.alloc();

		errno = 4711;
		slab_free_any(ptr);
		EXPECT_EQ(errno, 4711) << kind.name;
	}
	slab_free_any(memory);
	EXPECT_EQ(errno, 4711);
	std::free(memory);
}

TEST_F(PointerTest, MfreeStillRefusesTypedObjects)
{
	report_capture reports;
	void *obj = slab_alloc(typed_);

	slab_mfree(hidden(obj));
	EXPECT_EQ(reports.count(), 1u);
	EXPECT_EQ(stats_of(typed_).objects, 1u);
	EXPECT_TRUE(slab_free_any(obj));
}

/* --- memory of others -------------------------------------------------------------------- */

TEST_F(PointerTest, MemoryOfTheCLibraryIsNotLibslabs)
{
	for (std::size_t size : {std::size_t{1}, std::size_t{1000}, std::size_t{100000}, 3 * mib}) {
		void *memory = std::malloc(size);

		expect_foreign(memory);
		expect_foreign(static_cast<char *>(memory) + 1);
		std::free(memory);
	}
}

TEST_F(PointerTest, TheStackAndGlobalsAreNotLibslabs)
{
	static char global[64];
	char local[64] = {};

	expect_foreign(local);
	expect_foreign(global);
	expect_foreign("text");
	expect_foreign(reinterpret_cast<const void *>(&expect_foreign));
}

TEST_F(PointerTest, WildPointersAreNotLibslabs)
{
	for (std::uint64_t wild :
	     {UINT64_C(1), UINT64_C(8), UINT64_C(0x1000), UINT64_C(0x123456789000),
	      UINT64_C(0x7fffffffffff), UINT64_C(0x800000000000), UINT64_C(0x5a5a5a5a5a5a5a5a),
	      UINT64_C(0x6b6b6b6b6b6b6b6b), UINT64_C(0xffffffffff600000), ~UINT64_C(0)})
		expect_foreign(reinterpret_cast<const void *>(wild));
}

TEST_F(PointerTest, MemoryBehindALargeAllocationIsNotLibslabs)
{
	for (std::size_t size : {9 * mib, 40 * mib}) {
		char *large = static_cast<char *>(slab_malloc(size));
		const struct segment *segment = segment_of(large);
		const char *end = segment_start(large) + segment->mapped;
		Behind behind(large);

		ASSERT_NE(segment, nullptr);
		EXPECT_TRUE(slab_owns(end - 1));
		if (behind.get() == end)
			expect_foreign(end);
		slab_free_any(large);
		expect_foreign(end);
		expect_foreign(end - 1);
	}
}

TEST_F(PointerTest, WhatALargeAllocationLosesIsNotLibslabs)
{
	char *large = static_cast<char *>(slab_malloc(60 * mib));

	char *smaller = static_cast<char *>(slab_realloc(large, 34 * mib));
	if (smaller == large) {
		EXPECT_TRUE(slab_owns(large + 34 * mib - 1));
		expect_foreign(large + 36 * mib);
		expect_foreign(large + 59 * mib);
	}
	char *larger = static_cast<char *>(slab_realloc(smaller, 60 * mib));
	EXPECT_TRUE(slab_owns(larger + 60 * mib - 1));
	EXPECT_TRUE(slab_free_any(larger));
}

/* While large allocations come and go in front of it, the memory of others is not touched. */
TEST_F(PointerTest, OthersMemoryIsLookedUpBesideLargeFrees)
{
	std::atomic<bool> done{false};
	std::vector<std::thread> threads;
	std::vector<void *> foreign;

	for (int i = 0; i < 64; i++) {
		void *large = slab_malloc(9 * mib);
		void *page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		foreign.push_back(page);
		foreign.push_back(std::malloc(200000));
		slab_mfree(large);
	}
	for (int t = 0; t < 2; t++)
		threads.emplace_back([&done] {
			while (!done)
				slab_mfree(slab_malloc(9 * mib));
		});
	for (int round = 0; round < 20000; round++)
		for (void *ptr : foreign)
			ASSERT_FALSE(slab_free_any(ptr));
	done = true;
	join_all(threads);
	for (std::size_t i = 0; i < foreign.size(); i += 2) {
		munmap(foreign[i], 4096);
		std::free(foreign[i + 1]);
	}
}

/* --- misuse ------------------------------------------------------------------------------ */

TEST_F(PointerTest, APointerThatIsNotAlignedIsReported)
{
	for (const kind &kind : kinds_)
		for (std::size_t into : {1u, 4u, 15u}) {
			char *ptr = static_cast<char *>(kind.alloc());

			expect_refused(ptr + into, SLAB_PROBLEM_INVALID_POINTER);
			EXPECT_TRUE(slab_free_any(ptr)) << kind.name;
		}
}

/* Elsewhere the fast path takes it, as that of slab_free() does. */
TEST_F(PointerTest, APointerIntoAnObjectIsReportedWhereFreesAreChecked)
{
	for (struct slab_cache *cache :
	     {static_cast<struct slab_cache *>(hard_), static_cast<struct slab_cache *>(flagged_),
	      static_cast<struct slab_cache *>(guarded_)}) {
		char *obj = static_cast<char *>(slab_alloc(cache));

		expect_refused(obj + 8, SLAB_PROBLEM_INVALID_POINTER);
		EXPECT_TRUE(slab_free_any(obj));
	}
}

TEST_F(PointerTest, APointerIntoALargeAllocationIsReported)
{
	for (const auto &[size, into] :
	     {std::pair<std::size_t, std::size_t>{40000, 8}, {100 * mib, 50 * mib}}) {
		char *large = static_cast<char *>(slab_malloc(size));

		EXPECT_TRUE(slab_owns(large + into));
		expect_refused(large + into, SLAB_PROBLEM_INVALID_POINTER);
		EXPECT_TRUE(slab_free_any(large));
	}
}

TEST_F(PointerTest, ADoubleFreeIsReported)
{
	for (struct slab_cache *cache :
	     {static_cast<struct slab_cache *>(typed_), static_cast<struct slab_cache *>(flagged_),
	      static_cast<struct slab_cache *>(hard_), static_cast<struct slab_cache *>(guarded_),
	      cache_of_size(112)}) {
		void *stays = slab_alloc(cache), *obj = slab_alloc(cache);

		EXPECT_TRUE(slab_free_any(obj));
		expect_refused(obj, SLAB_PROBLEM_DOUBLE_FREE);
		EXPECT_TRUE(slab_free_any(stays));
	}
}

TEST_F(PointerTest, ALargeAllocationThatWasFreedIsReported)
{
	void *large = slab_malloc(40000);

	EXPECT_TRUE(slab_free_any(large));
	if (slab_owns(large))
		expect_refused(large, SLAB_PROBLEM_INVALID_POINTER);
}

TEST_F(PointerTest, AnObjectWhoseSlabWentBackIsReported)
{
	void *obj = slab_alloc(typed_);

	EXPECT_TRUE(slab_free_any(obj));
	slab_cache_shrink(typed_);
	ASSERT_EQ(slab_cache_of(obj), nullptr);
	if (slab_owns(obj))
		expect_refused(obj, SLAB_PROBLEM_INVALID_POINTER);
}

/* The report says as much as that of slab_free() does. */
TEST_F(PointerTest, ReportsNameTheCallerAndTheCache)
{
	report_capture reports;
	char *obj = static_cast<char *>(slab_alloc(typed_));

	slab_free_any(hidden(obj + 4));
	EXPECT_EQ(reports.last().cache, typed_.name());
	EXPECT_GT(reports.last().info.detected.frames, 0u);
	EXPECT_EQ(reports.last().info.object, obj);
	EXPECT_TRUE(reports.contains("It points 4 bytes from the start of an object"));
	slab_free_any(obj);
}

TEST_F(PointerTest, TheCacheGoesOnAfterMisuse)
{
	{
		report_capture reports;
		char *obj = static_cast<char *>(slab_alloc(typed_));

		slab_free_any(hidden(obj + 4));
		slab_free_any(obj);
		slab_free_any(hidden(obj));
	}
	const std::vector<void *> objs = alloc_many(typed_, 2000);
	EXPECT_TRUE(all_distinct(objs));
	for (void *obj : objs)
		EXPECT_TRUE(slab_free_any(obj));
	EXPECT_EQ(slab_cache_validate(typed_), 0);
}

} /* namespace */
