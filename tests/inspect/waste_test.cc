/* SPDX-License-Identifier: MIT */
/* Who keeps the memory of slabs that holds no object, of this process by itself. */
#include <regex>

#include "../support/objects.h"
#include "inspection.h"

namespace
{

struct holder {
	std::uint64_t objects, bytes;
	bool sampled;
};

/* The answer to "waste" for one cache. */
struct waste {
	std::uint64_t bytes = 0, unused = 0;
	std::vector<holder> holders;

	std::uint64_t held() const
	{
		return std::accumulate(
			holders.begin(), holders.end(), std::uint64_t{0},
			[](std::uint64_t sum, const holder &one) { return sum + one.bytes; });
	}

	std::uint64_t objects() const
	{
		return std::accumulate(
			holders.begin(), holders.end(), std::uint64_t{0},
			[](std::uint64_t sum, const holder &one) { return sum + one.objects; });
	}

	/* The bytes of each object of the holder with so many of them. */
	double each_of(std::uint64_t objects) const
	{
		for (const holder &one : holders)
			if (one.objects == objects)
				return static_cast<double>(one.bytes) /
				       static_cast<double>(objects);
		ADD_FAILURE() << "nobody has " << objects << " objects";
		return 0;
	}
};

waste waste_of(const std::string &cache)
{
	const answered all = inspect("waste");
	const std::string name = "\"cache\":\"" + cache + "\",";
	const std::regex totals(name + "\"bytes\":([0-9]+),\"unused\":([0-9]+)"),
		charge(name + "\"objects\":([0-9]+),\"bytes\":([0-9]+),\"sampled\":(true|false)");
	std::smatch found;
	waste seen;

	EXPECT_EQ(all.result, 0) << all.text;
	if (!std::regex_search(all.text, found, totals)) {
		ADD_FAILURE() << cache << " is missing in " << all.text;
		return seen;
	}
	seen.bytes = std::stoull(found[1]);
	seen.unused = std::stoull(found[2]);
	for (std::sregex_iterator at(all.text.begin(), all.text.end(), charge), end; at != end;
	     ++at)
		seen.holders.push_back(
			{std::stoull((*at)[1]), std::stoull((*at)[2]), (*at)[3] == "true"});
	return seen;
}

__attribute__((noinline)) std::vector<void *> alloc_here(struct slab_cache *cache, std::size_t n)
{
	std::vector<void *> objs(n);

	for (void *&obj : objs)
		obj = slab_alloc(cache);
	return objs;
}

TEST(WasteTest, FreeMemoryIsChargedToTheObjectsBesideIt)
{
	test_cache cache(1000, SLAB_STORE_USER);
	const std::vector<void *> dense = alloc_many(cache, 5000), sparse = alloc_here(cache, 5000);
	std::vector<void *> left;

	for (std::size_t i = 0; i < sparse.size(); i++) {
		if (i % 50 == 0)
			left.push_back(sparse[i]);
		else
			slab_free(cache, sparse[i]);
	}
	const waste seen = waste_of(cache.name());

	EXPECT_EQ(seen.holders.size(), 2U);
	EXPECT_EQ(seen.held() + seen.unused, seen.bytes);
	EXPECT_LT(seen.each_of(dense.size()), 500);
	EXPECT_GT(seen.each_of(left.size()), 10000);
	free_many(cache, dense);
	free_many(cache, left);
}

TEST(WasteTest, NobodyHoldsAnUnusedSlab)
{
	test_cache cache(1000, SLAB_STORE_USER);

	free_many(cache, alloc_many(cache, 5000));
	const waste seen = waste_of(cache.name());

	EXPECT_GT(seen.bytes, 0U);
	EXPECT_EQ(seen.unused, seen.bytes);
	EXPECT_TRUE(seen.holders.empty());
}

TEST(WasteTest, WithoutTracksNobodyIsKnown)
{
	test_cache cache(1000);
	const objects many(cache, 100);
	const waste seen = waste_of(cache.name());

	EXPECT_GT(seen.bytes, seen.unused);
	EXPECT_TRUE(seen.holders.empty());
}

TEST(WasteTest, SamplesStandForTheObjectsOfTheirCache)
{
	test_cache cache(1000);
	const objects before(cache, 1000);

	ASSERT_EQ(slab_set_profile(4000), 0);
	{
		const objects sampled(cache, 1000);
		const std::vector<void *> others = alloc_here(cache, 1000);
		const waste seen = waste_of(cache.name());

		EXPECT_EQ(slab_set_profile(0), 0);
		EXPECT_EQ(seen.holders.size(), 2U);
		for (const holder &one : seen.holders)
			EXPECT_TRUE(one.sampled);
		/* Five standard deviations of an estimate with a chance of 22 %. */
		EXPECT_NEAR(static_cast<double>(seen.objects()), 2000, 430);
		EXPECT_NEAR(static_cast<double>(seen.held()),
			    static_cast<double>((seen.bytes - seen.unused) * seen.objects()) / 3000,
			    0.01 * static_cast<double>(seen.bytes));
		free_many(cache, others);
	}
}

} /* namespace */
