/* SPDX-License-Identifier: MIT */
/*
 * Merging: caches of one layout share their slabs under several names, unless
 * something speaks against it.
 */
#include <cerrno>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <slab/debug.h>
#include <slab/slab.h>
#include <slab/stats.h>

#include "../support/objects.h"
#include "../support/process.h"

using namespace slab_test;

namespace
{

TEST(MergeTest, CachesOfOneLayoutAreMerged)
{
	test_cache first(48, SLAB_MERGE);
	test_cache second(48, SLAB_MERGE);

	EXPECT_EQ(static_cast<struct slab_cache *>(first),
		  static_cast<struct slab_cache *>(second));
	EXPECT_GE(stats_of(first).merged, 1u);
}

TEST(MergeTest, AliasesListEveryName)
{
	test_cache first(48, SLAB_MERGE);
	test_cache second(48, SLAB_MERGE);
	test_cache third(48, SLAB_MERGE);

	for (const auto *cache : {&first, &second, &third})
		EXPECT_TRUE(has_name(*cache, cache->name())) << cache->name();
}

TEST(MergeTest, AliasesRespectMax)
{
	test_cache first(48, SLAB_MERGE);
	test_cache second(48, SLAB_MERGE);
	test_cache third(48, SLAB_MERGE);
	const char *names[2] = {nullptr, nullptr};
	const std::size_t all = slab_cache_aliases(first, nullptr, 0);

	EXPECT_GE(all, 2u);
	EXPECT_EQ(slab_cache_aliases(first, names, 1), all);
	EXPECT_NE(names[0], nullptr);
	EXPECT_EQ(names[1], nullptr);
}

/* More than the table of names has room for at first, in no order; aliases among them. */
TEST(MergeTest, ManyNamesComeAndGo)
{
	std::vector<struct slab_cache *> caches;
	const auto create = [](std::size_t i) {
		return slab_cache_create(("name" + std::to_string(i)).c_str(), 48, nullptr,
					 i % 3 ? 0 : SLAB_MERGE);
	};

	for (std::size_t i = 0; i < 1500; i++)
		caches.push_back(create(i));
	for (std::size_t i = 0; i < caches.size(); i++) {
		ASSERT_NE(caches[i], nullptr) << i;
		EXPECT_EQ(create(i), nullptr) << i;
		EXPECT_EQ(errno, EEXIST);
	}
	for (std::size_t i = 1; i < caches.size(); i += 3)
		EXPECT_EQ(slab_cache_destroy(caches[i * 7 % caches.size() / 3 * 3 + 1]), 0);
	for (std::size_t i = 0; i < caches.size(); i++) {
		if (i % 3 != 1) {
			EXPECT_EQ(create(i), nullptr) << i;
			continue;
		}
		caches[i] = create(i);
		EXPECT_NE(caches[i], nullptr) << i;
	}
	/* The names of a merged cache leave in the opposite order of their arrival. */
	for (std::size_t i = caches.size(); i-- > 0;)
		EXPECT_EQ(slab_cache_destroy(caches[i]), 0) << i;
	EXPECT_EQ(slab_cache_destroy(caches[1]), -EINVAL);
	struct slab_cache *again = create(0);

	EXPECT_NE(again, nullptr);
	EXPECT_EQ(slab_cache_destroy(again), 0);
}

/* Debug flags keep caches of one layout apart; in any order they go, the others are found. */
TEST(MergeTest, ACacheThatIsGoneIsNotFound)
{
	constexpr std::size_t size = 1736;

	for (const std::size_t gone : {0u, 1u, 2u}) {
		std::vector<struct slab_cache *> caches;

		for (const char *name : {"one", "two", "three"}) {
			caches.push_back(slab_cache_create(name, size, nullptr, SLAB_MERGE));
			ASSERT_NE(caches.back(), nullptr);
			EXPECT_EQ(slab_cache_debug(caches.back(), SLAB_POISON), 0);
		}
		EXPECT_EQ(slab_cache_destroy(caches[gone]), 0);
		caches.erase(caches.begin() + static_cast<long>(gone));
		for (struct slab_cache *cache : caches) {
			EXPECT_EQ(slab_cache_debug(cache, 0), 0);
			EXPECT_EQ(slab_cache_create("four", size, nullptr, SLAB_MERGE), cache);
			EXPECT_EQ(slab_cache_destroy(cache), 0);
			EXPECT_EQ(slab_cache_destroy(cache), 0);
		}
	}
}

TEST(MergeTest, AnAliasesNameIsTaken)
{
	test_cache first(48, SLAB_MERGE);
	test_cache second(48, SLAB_MERGE);

	EXPECT_EQ(slab_cache_create(second.name().c_str(), 96, nullptr, SLAB_MERGE), nullptr);
	EXPECT_EQ(errno, EEXIST);
}

/* Of a size that no other test uses. */
struct slab_cache *create_1096(const char *name)
{
	return slab_cache_create(name, 1096, nullptr, SLAB_MERGE);
}

TEST(MergeTest, AMergedCacheIsDestroyedAndCreatedAgain)
{
	struct slab_cache *first = create_1096("first"), *second = create_1096("second");

	ASSERT_EQ(first, second);
	EXPECT_EQ(slab_cache_destroy(first), 0);
	first = create_1096("first");
	ASSERT_NE(first, nullptr) << errno;
	EXPECT_TRUE(has_name(first, "first"));
	EXPECT_TRUE(has_name(first, "second"));
	EXPECT_EQ(slab_cache_destroy(first), 0);
	EXPECT_EQ(slab_cache_destroy(second), 0);
	EXPECT_EQ(slab_cache_destroy(second), -EINVAL);
}

TEST(MergeTest, AMergedCacheIsDestroyedAndCreatedWithAnotherLayout)
{
	struct slab_cache *first = create_1096("first"), *second = create_1096("second");

	EXPECT_EQ(slab_cache_destroy(first), 0);
	first = slab_cache_create("first", 2048, nullptr, SLAB_NO_MERGE);
	ASSERT_NE(first, nullptr) << errno;
	EXPECT_FALSE(has_name(second, "first"));
	EXPECT_STREQ(slab_cache_name(second), "second");
	EXPECT_EQ(slab_cache_destroy(first), 0);
	EXPECT_EQ(slab_cache_destroy(second), 0);
}

/* A name that the destruction dropped, and that another cache has by now, does not come back. */
TEST(MergeTest, ANameOfAnotherCacheIsNotTakenBack)
{
	struct slab_cache *first = create_1096("first"), *second = create_1096("second");

	EXPECT_EQ(slab_cache_destroy(second), 0);
	second = slab_cache_create("second", 2048, nullptr, SLAB_NO_MERGE);
	ASSERT_NE(second, nullptr);
	EXPECT_EQ(create_1096("first"), nullptr);
	EXPECT_EQ(errno, EEXIST);
	EXPECT_STREQ(slab_cache_name(first), "first");
	EXPECT_EQ(slab_cache_destroy(second), 0);
	EXPECT_EQ(slab_cache_destroy(first), 0);
}

/* The parts of a program, each of which creates and destroys a cache of its own, in any order. */
class parts
{
public:
	explicit parts(std::size_t n) : caches_(n) {}

	/* Each step creates or destroys one cache. In the end all are there. */
	void run(int steps)
	{
		const unsigned seed = std::random_device()();
		std::mt19937 random(seed);

		SCOPED_TRACE("seed " + std::to_string(seed));
		for (int step = 0; step < steps; step++) {
			const std::size_t i = random() % caches_.size();

			if (caches_[i])
				destroy(i);
			else
				create(i);
		}
		for (std::size_t i = 0; i < caches_.size(); i++)
			if (!caches_[i])
				create(i);
	}

	void expect_all_names() const
	{
		for (std::size_t i = 0; i < caches_.size(); i++)
			EXPECT_TRUE(has_name(caches_[i], name(i))) << i;
	}

	~parts()
	{
		for (std::size_t i = 0; i < caches_.size(); i++)
			destroy(i);
	}

	parts(const parts &) = delete;
	parts &operator=(const parts &) = delete;

private:
	static std::string name(std::size_t i)
	{
		return "part" + std::to_string(i);
	}

	void create(std::size_t i)
	{
		caches_[i] = create_1096(name(i).c_str());
		EXPECT_NE(caches_[i], nullptr) << name(i) << ": " << errno;
	}

	void destroy(std::size_t i)
	{
		EXPECT_EQ(slab_cache_destroy(caches_[i]), 0);
		caches_[i] = nullptr;
	}

	std::vector<struct slab_cache *> caches_;
};

TEST(MergeTest, MergedCachesComeAndGoInAnyOrder)
{
	parts all(20);

	all.run(5000);
	all.expect_all_names();
}

TEST(MergeTest, MoreMergedCachesThanOneHasNamesForComeAndGo)
{
	parts all(SLAB_STATS_MAX_ALIASES + 30);

	all.run(5000);
	all.expect_all_names();
}

TEST(MergeTest, DestroyingAMergedCacheDropsOneReference)
{
	test_cache first(48, SLAB_MERGE);
	auto *second = new test_cache(48, SLAB_MERGE);
	std::vector<void *> objs = alloc_many(first, 10);

	for (std::size_t i = 0; i < objs.size(); i++)
		fill(objs[i], 48, i);
	delete second; /* fails the test unless destroy gives 0 */
	for (std::size_t i = 0; i < objs.size(); i++)
		EXPECT_TRUE(intact(objs[i], 48, i));
	free_many(first, objs);
}

/* Not even with caches that may be merged, whichever of them comes first. */
TEST(MergeTest, CachesAreApartUnlessBothMayBeMerged)
{
	test_cache first(48, 0), second(48, 0), third(48, SLAB_MERGE), fourth(48, 0);
	const std::set<struct slab_cache *> all = {first, second, third, fourth};

	EXPECT_EQ(all.size(), 4u);
	for (struct slab_cache *cache : all)
		EXPECT_EQ(stats_of(cache).merged, 0u);
}

TEST(MergeTest, NoMergeIsStrongerThanMerge)
{
	test_cache first(48, SLAB_MERGE), second(48, SLAB_MERGE | SLAB_NO_MERGE);
	struct slab_cache *a = first, *b = second;

	EXPECT_NE(a, b);
}

TEST(MergeTest, AConstructorPreventsMerging)
{
	struct slab_cache_args args = {};

	args.ctor = [](void *, void *) { return 0; };
	test_cache plain(48, SLAB_MERGE);
	test_cache constructed(48, SLAB_MERGE, &args);
	test_cache other(48, SLAB_MERGE, &args);
	struct slab_cache *a = plain, *b = constructed, *c = other;

	EXPECT_NE(a, b);
	EXPECT_NE(b, c);
	EXPECT_EQ(stats_of(b).has_ctor, 1u);
}

TEST(MergeTest, MergeOnMergesCachesWithoutTheFlag)
{
	if (!running_again()) {
		const second_run run = run_again({"SLAB_MERGE=on"});

		EXPECT_EQ(run.failure, "") << run.output;
		return;
	}
	test_cache first(48, 0), second(48, 0), third(48, SLAB_NO_MERGE);
	struct slab_cache *a = first, *b = second, *c = third;

	EXPECT_EQ(a, b);
	EXPECT_NE(a, c);
}

} /* namespace */
