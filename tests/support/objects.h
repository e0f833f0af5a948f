/* SPDX-License-Identifier: MIT */
/*
 * Objects under test: patterns that show when two objects overlap or another thread
 * else wrote to one, caches that clean up after a test, and numbers.
 *
 * A pattern fills the whole object from a seed, so that each object of a test
 * can have its own and any mix-up of two objects is seen.
 */
#pragma once

#include "test.h"

/* Enough objects of any size for several slabs. */
constexpr std::size_t several_slabs = 500;

/* The 8 bytes of a pattern at word `index`: a mix in which every bit of the
 * seed and the index counts. */
inline std::uint64_t pattern_word(std::uint64_t seed, std::size_t index)
{
	std::uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + index + 1;

	x ^= x >> 29;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ (x >> 32);
}

inline void fill(void *obj, std::size_t size, std::uint64_t seed)
{
	auto *bytes = static_cast<unsigned char *>(obj);
	const std::size_t whole = size / 8, rest = size % 8;
	const std::uint64_t last = pattern_word(seed, whole);

	for (std::size_t i = 0; i < whole; i++) {
		const std::uint64_t word = pattern_word(seed, i);

		std::memcpy(bytes + i * 8, &word, 8);
	}
	if (rest)
		std::memcpy(bytes + whole * 8, &last, rest);
}

/* Does obj still hold what fill() wrote? */
inline bool intact(const void *obj, std::size_t size, std::uint64_t seed)
{
	const auto *bytes = static_cast<const unsigned char *>(obj);
	const std::size_t whole = size / 8, rest = size % 8;
	const std::uint64_t last = pattern_word(seed, whole);

	for (std::size_t i = 0; i < whole; i++) {
		std::uint64_t word;

		std::memcpy(&word, bytes + i * 8, 8);
		if (word != pattern_word(seed, i))
			return false;
	}
	return !rest || std::memcmp(bytes + whole * 8, &last, rest) == 0;
}

inline bool all_bytes(const void *obj, std::size_t size, unsigned char value)
{
	const auto *bytes = static_cast<const unsigned char *>(obj);

	return std::all_of(bytes, bytes + size, [value](unsigned char b) { return b == value; });
}

/* Larger than any memory. */
constexpr std::size_t no_size = static_cast<std::size_t>(-1);

/* Hides a size from the compiler, which warns of sizes that cannot be had. */
inline std::size_t opaque(std::size_t size)
{
	volatile std::size_t hidden = size;

	return hidden;
}

inline bool aligned(const void *obj, std::size_t align)
{
	return reinterpret_cast<std::uintptr_t>(obj) % align == 0;
}

/* The same shuffle in every run. */
template <typename T> void shuffle(std::vector<T> &items, unsigned seed = 1)
{
	std::mt19937 random(seed);

	std::shuffle(items.begin(), items.end(), random);
}

/*
 * A cache for one test, destroyed with it; the test fails when objects of it are
 * left. The name is made from the test's, so that no two tests collide.
 */
class test_cache
{
public:
	explicit test_cache(std::size_t size, std::uint64_t flags = 0,
			    const struct slab_cache_args *args = nullptr)
	{
		static unsigned number;
		const auto *test = testing::UnitTest::GetInstance()->current_test_info();

		name_ = std::string(test->name()).substr(0, SLAB_MAX_NAME - 12) + "-" +
			std::to_string(++number);
		std::replace(name_.begin(), name_.end(), '/', '-');
		cache_ = slab_cache_create(name_.c_str(), size, args, flags);
		EXPECT_NE(cache_, nullptr) << name_ << ": errno " << errno;
	}

	~test_cache() { EXPECT_EQ(destroy(), 0) << name_; }

	test_cache(const test_cache &) = delete;
	test_cache &operator=(const test_cache &) = delete;

	operator struct slab_cache *() const { return cache_; }

	const std::string &name() const { return name_; }

	/* Destroy the cache within the test; it stays when that fails. */
	int destroy()
	{
		const int result = slab_cache_destroy(cache_);

		if (result == 0)
			cache_ = nullptr;
		return result;
	}

private:
	std::string name_;
	struct slab_cache *cache_ = nullptr;
};

/* n objects of a cache; fewer when memory is short, which fails the test. */
inline std::vector<void *> alloc_many(struct slab_cache *cache, std::size_t n)
{
	std::vector<void *> objs(n);

	for (void *&obj : objs) {
		obj = slab_alloc(cache);
		EXPECT_NE(obj, nullptr);
	}
	return objs;
}

inline void free_many(struct slab_cache *cache, const std::vector<void *> &objs)
{
	for (void *obj : objs)
		slab_free(cache, obj);
}

/* Are all pointers different, and none NULL? */
inline bool all_distinct(std::vector<void *> objs)
{
	std::sort(objs.begin(), objs.end());
	return (objs.empty() || objs.front() != nullptr) &&
	       std::adjacent_find(objs.begin(), objs.end()) == objs.end();
}

inline struct slab_stats stats_of(struct slab_cache *cache)
{
	struct slab_stats stats = {};

	stats.struct_size = sizeof(stats);
	EXPECT_EQ(slab_cache_stats(cache, &stats), 0);
	return stats;
}

inline struct slab_process_stats process_stats()
{
	struct slab_process_stats stats = {};

	stats.struct_size = sizeof(stats);
	EXPECT_EQ(slab_process_stats(&stats), 0);
	return stats;
}
