/* SPDX-License-Identifier: MIT */
/* What the object caches of benchmarks/baselines promise. */
#include "../support/cpus.h"

#include <baseline.h>

namespace baselines_test
{

namespace
{

/* A design as a class. */
#define DESIGN(name, prefix)                                                                       \
	struct name {                                                                              \
		prefix##_cache *cache;                                                             \
		explicit name(std::size_t size) : cache(prefix##_create(size)) {}                  \
		~name()                                                                            \
		{                                                                                  \
			prefix##_destroy(cache);                                                   \
		}                                                                                  \
		void *alloc()                                                                      \
		{                                                                                  \
			return prefix##_alloc(cache);                                              \
		}                                                                                  \
		void free(void *obj)                                                               \
		{                                                                                  \
			prefix##_free(cache, obj);                                                 \
		}                                                                                  \
		std::size_t bulk(std::size_t n, void **objs)                                       \
		{                                                                                  \
			return prefix##_alloc_bulk(cache, n, objs);                                \
		}                                                                                  \
		void free_bulk(std::size_t n, void **objs)                                         \
		{                                                                                  \
			prefix##_free_bulk(cache, n, objs);                                        \
		}                                                                                  \
		void shrink()                                                                      \
		{                                                                                  \
			prefix##_shrink(cache);                                                    \
		}                                                                                  \
		std::size_t bytes()                                                                \
		{                                                                                  \
			return prefix##_bytes(cache);                                              \
		}                                                                                  \
	}

DESIGN(slob, slob);
DESIGN(queued, queued);
DESIGN(sheaves, sheaf);

const std::size_t sizes[] = {1, 8, 13, 64, 100, 240, 500, 712, 1024, 2112, 4096, 5000, 32768};

void stamp(void *obj, std::size_t size, unsigned value)
{
	for (std::size_t i = 0; i < size; i++)
		static_cast<unsigned char *>(obj)[i] = static_cast<unsigned char>(value + i * 7);
}

bool has_stamp(const void *obj, std::size_t size, unsigned value)
{
	for (std::size_t i = 0; i < size; i++)
		if (static_cast<const unsigned char *>(obj)[i] !=
		    static_cast<unsigned char>(value + i * 7))
			return false;
	return true;
}

void run_threads(unsigned n, const std::function<void(unsigned)> &body)
{
	std::vector<std::thread> threads;

	for (unsigned i = 0; i < n; i++)
		threads.emplace_back(body, i);
	join_all(threads);
}

} // namespace

template <typename Cache> class BaselineTest : public ::testing::Test
{
};

using caches = ::testing::Types<slob, queued, sheaves>;
TYPED_TEST_SUITE(BaselineTest, caches);

TYPED_TEST(BaselineTest, ObjectsOfAllSizesAreAlignedAndDoNotOverlap)
{
	for (std::size_t size : sizes) {
		TypeParam cache(size);
		std::vector<void *> objs(300);

		for (unsigned i = 0; i < objs.size(); i++) {
			objs[i] = cache.alloc();
			EXPECT_EQ(reinterpret_cast<std::uintptr_t>(objs[i]) % 8, 0u);
			stamp(objs[i], size, i);
		}
		for (unsigned i = 0; i < objs.size(); i++) {
			EXPECT_TRUE(has_stamp(objs[i], size, i)) << size;
			cache.free(objs[i]);
		}
	}
}

TYPED_TEST(BaselineTest, NoObjectIsHandedOutTwiceInARandomOrder)
{
	for (std::size_t size : {16, 64, 712, 2112}) {
		std::vector<std::pair<void *, unsigned>> live;
		std::mt19937 random(1);
		TypeParam cache(size);

		for (unsigned i = 0; i < 24000 || !live.empty(); i++) {
			const bool alloc = i < 24000 && random() % 3 < (i / 6000 % 2 ? 1 : 2);

			if (alloc || live.empty()) {
				live.emplace_back(cache.alloc(), i);
				stamp(live.back().first, size, i);
				continue;
			}
			std::swap(live[random() % live.size()], live.back());
			ASSERT_TRUE(has_stamp(live.back().first, size, live.back().second));
			cache.free(live.back().first);
			live.pop_back();
		}
	}
}

TYPED_TEST(BaselineTest, BulkDeliversAllAndDifferentObjects)
{
	for (std::size_t size : {64, 712, 4096}) {
		TypeParam cache(size);
		std::vector<void *> objs(1000);

		ASSERT_EQ(cache.bulk(objs.size(), objs.data()), objs.size());
		for (unsigned i = 0; i < objs.size(); i++)
			stamp(objs[i], size, i);
		for (unsigned i = 0; i < objs.size(); i++)
			EXPECT_TRUE(has_stamp(objs[i], size, i));
		cache.free_bulk(objs.size(), objs.data());
	}
}

TYPED_TEST(BaselineTest, MemoryReturnsAfterAShrink)
{
	for (std::size_t size : sizes) {
		TypeParam cache(size);
		std::vector<void *> objs(2000);

		for (void *&obj : objs)
			obj = cache.alloc();
		EXPECT_GE(cache.bytes(), objs.size() * size);
		for (void *obj : objs)
			cache.free(obj);
		cache.shrink();
		EXPECT_EQ(cache.bytes(), 0u) << size;
	}
}

/* Threads exchange each new object for one that another thread left, which is freed. */
TYPED_TEST(BaselineTest, ThreadsThatFreeEachOthersObjectsBesideShrinksLoseNone)
{
	std::atomic<unsigned char *> place[64] = {};
	std::atomic<bool> done{false};
	TypeParam cache(120);
	const auto check = [&](unsigned char *old) {
		EXPECT_TRUE(!old || has_stamp(old + 8, 112, old[0]));
		if (old)
			cache.free(old);
	};
	std::thread shrinker([&] {
		while (!done)
			cache.shrink();
	});

	run_threads(4, [&](unsigned self) {
		std::mt19937 random(self);

		for (unsigned i = 0; i < 10000; i++) {
			auto *obj = static_cast<unsigned char *>(cache.alloc());

			obj[0] = static_cast<unsigned char>(i);
			stamp(obj + 8, 112, obj[0]);
			check(place[random() % 64].exchange(obj));
		}
	});
	done = true;
	shrinker.join();
	for (auto &one : place)
		check(one.exchange(nullptr));
	cache.shrink();
	EXPECT_EQ(cache.bytes(), 0u);
}

TYPED_TEST(BaselineTest, AnObjectThatIsFreedTwiceInARowEndsTheProcess)
{
	::testing::FLAGS_gtest_death_test_style = "threadsafe";
	TypeParam cache(64);

	EXPECT_DEATH(
		{
			void *obj = cache.alloc();

			cache.free(obj);
			cache.free(obj);
		},
		"an object was freed twice");
}

TEST(BaselineSizes, ImpossibleOnesAreRefused)
{
	for (std::size_t size : {std::size_t{0}, BASELINE_MAX_OBJECT + 1}) {
		EXPECT_EQ(slob_create(size), nullptr);
		EXPECT_EQ(queued_create(size), nullptr);
		EXPECT_EQ(sheaf_create(size), nullptr);
	}
}

} // namespace baselines_test
