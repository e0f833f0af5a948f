/* SPDX-License-Identifier: MIT */
/* Memory that goes back to the operating system: the rules of which pages may go. */
#include "../support/passes.h"

namespace
{

TEST(DecayRuleTest, HugePagesThatAreMostlyInUseAreNotBrokenUp)
{
	const std::size_t huge = std::size_t{2} << 20;

	EXPECT_TRUE(decay_breaks_up(0, huge));
	EXPECT_TRUE(decay_breaks_up(huge / 2, huge));
	EXPECT_FALSE(decay_breaks_up(huge / 2 + 1, huge));
	EXPECT_FALSE(decay_breaks_up(huge, huge));
}

TEST(DecayRuleTest, WhatIsIdleForADecayTimeIsRipe)
{
	EXPECT_FALSE(decay_is_ripe(7, 7));
	EXPECT_FALSE(decay_is_ripe(7, 7 + DECAY_EPOCHS - 1));
	EXPECT_TRUE(decay_is_ripe(7, 7 + DECAY_EPOCHS));
	/* Freed since the last pass: the next one is the first to see it. */
	EXPECT_FALSE(decay_is_ripe(8, 7));
	EXPECT_TRUE(decay_is_ripe(UINT32_MAX - 1, DECAY_EPOCHS - 1));
	EXPECT_FALSE(decay_is_ripe(UINT32_MAX - 1, 1));
}

void fall_asleep()
{
	idle_kick();
	run_all_passes();
	ASSERT_TRUE(decay_is_asleep());
}

/* What such an operation frees must not wait for the next one. */
TEST(DecayRuleTest, AnOperationWhilePassesEndKeepsThemRunning)
{
	fall_asleep();
	__atomic_store_n(&idle_active, 1, __ATOMIC_SEQ_CST);
	decay_end_pass();
	EXPECT_FALSE(decay_is_asleep());
	fall_asleep();
}

TEST(DecayRuleTest, PassesStayOnAGrid)
{
	const long step = slab_options()->decay_ms / DECAY_EPOCHS;

	ASSERT_GT(step, 0);
	fall_asleep();
	idle_kick();
	const long first = decay_wait_from(0);

	for (int i = 1; i <= 10; i++) {
		EXPECT_TRUE(decay_take_due(static_cast<std::uint64_t>(decay_wait_from(0)) * 1000));
		EXPECT_EQ(decay_wait_from(0), first + i * step);
	}
	fall_asleep();
}

constexpr std::size_t rule_size = 104;

/* The pages in use of a slab of which none but these objects are in use. */
std::set<unsigned> used_pages(const std::set<unsigned> &used_objects, unsigned initialized)
{
	const std::size_t page = os_page_size(), bytes = std::size_t{16} * page;
	const auto objects = static_cast<unsigned>(bytes / rule_size);
	std::vector<std::uint64_t> memory((sizeof(struct slab) + 7) / 8 + map_words(objects));
	auto *slab = reinterpret_cast<struct slab *>(memory.data());
	std::set<unsigned> pages;

	slab->objects = static_cast<std::uint16_t>(objects);
	slab->initialized = static_cast<std::uint16_t>(initialized);
	for (unsigned i = 0; i < initialized; i++)
		slab->map[i / 64] |= std::uint64_t{!used_objects.count(i)} << i % 64;
	for (std::size_t at = 0; at < bytes; at += page)
		if (!decay_is_unused(slab, rule_size, at, at + page))
			pages.insert(static_cast<unsigned>(at / page));
	return pages;
}

TEST(DecayRuleTest, APageIsInUseWhereAnObjectBeginsGoesOnOrEnds)
{
	const auto page = static_cast<unsigned>(os_page_size());
	const auto across = static_cast<unsigned>(
		page / rule_size); /* begins on the first page and ends on the second */
	const auto objects = static_cast<unsigned>(8 * page / rule_size);

	EXPECT_EQ(used_pages({}, objects), std::set<unsigned>());
	EXPECT_EQ(used_pages({0}, objects), std::set<unsigned>({0}));
	EXPECT_EQ(used_pages({across - 1}, objects), std::set<unsigned>({0}));
	EXPECT_EQ(used_pages({across}, objects), std::set<unsigned>({0, 1}));
	EXPECT_EQ(used_pages({across + 1, objects - 1}, objects), std::set<unsigned>({1, 7}));
}

/* Objects of the second word of the map, and of later ones. */
TEST(DecayRuleTest, PagesBeyondTheFirstWordAreInUseToo)
{
	for (const unsigned i : {64u, 129u, 500u})
		EXPECT_EQ(used_pages({i}, 600).count(
				  static_cast<unsigned>(i * rule_size / os_page_size())),
			  1u)
			<< i;
	EXPECT_LE(used_pages({500}, 600).size(), 2u);
}

TEST(DecayRuleTest, ObjectsThatWereNeverMadeAreNotInUse)
{
	EXPECT_EQ(used_pages({500}, 500), std::set<unsigned>());
	EXPECT_EQ(used_pages({500}, 501),
		  std::set<unsigned>({static_cast<unsigned>(500 * rule_size / os_page_size())}));
}

/* Frees all but every step-th object of these; the others are returned. */
objects thinned(struct slab_cache *cache, const objects &objs, std::size_t step)
{
	objects left;

	for (std::size_t i = 0; i < objs.size(); i++) {
		if (i % step)
			slab_free(cache, objs[i]);
		else
			left.push_back(objs[i]);
	}
	return left;
}

constexpr std::uintptr_t huge = std::uintptr_t{2} << 20;

/* A huge page that consists of slabs of these objects, all of which are in use; 0: there is
 * none. */
std::uintptr_t full_huge_page(const objects &objs)
{
	std::map<std::uintptr_t, std::size_t> count;

	for (void *obj : objs)
		count[reinterpret_cast<std::uintptr_t>(obj) / huge]++;
	for (const auto &[number, objects_in_it] : count)
		if (objects_in_it == huge / object_size)
			return number * huge;
	return 0;
}

TEST(DecayRuleTest, AHugePageIsJudgedByAllItsSlabs)
{
	test_cache cache(object_size);
	const objects objs = allocate(cache, 3 * SEGMENT_SIZE / object_size);
	const std::uintptr_t start = full_huge_page(objs);
	objects inside, outside;

	for (void *obj : objs) {
		const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(obj);

		(at >= start && at < start + huge ? inside : outside).push_back(obj);
	}
	ASSERT_EQ(inside.size(), huge / object_size);
	const struct slab *slab = slab_of(reinterpret_cast<void *>(start));

	EXPECT_TRUE(decay_would_waste(slab));
	std::sort(inside.begin(), inside.end());
	/* Of the first three quarters nothing is left, and all of the last one. */
	const auto last = inside.begin() + static_cast<long>(inside.size() * 3 / 4);

	free_all(cache,
		 objects(inside.begin(), inside.begin() + static_cast<long>(inside.size() / 4)));
	cache_drain(cache, nullptr, nullptr);
	EXPECT_TRUE(decay_would_waste(slab)) << "three quarters are in use";
	free_all(cache, objects(inside.begin() + static_cast<long>(inside.size() / 4), last));
	cache_drain(cache, nullptr, nullptr);
	EXPECT_FALSE(decay_would_waste(slab)) << "one quarter is in use";
	free_all(cache, objects(last, inside.end()));
	free_all(cache, outside);
}

/* Objects that are free within slabs in use count as free. */
TEST(DecayRuleTest, AHugePageOfSparseSlabsIsNotWasted)
{
	test_cache cache(object_size);
	const objects objs = allocate(cache, 3 * SEGMENT_SIZE / object_size);
	const struct slab *slab = slab_of(objs[objs.size() / 2]);
	const objects left = thinned(cache, objs, 3);

	cache_drain(cache, nullptr, nullptr);
	EXPECT_FALSE(decay_would_waste(slab));
	free_all(cache, left);
}

/* The first pages of a segment are inaccessible: there is no huge page. */
TEST(DecayRuleTest, ASegmentsHeadIsInNoHugePage)
{
	test_cache cache(object_size);
	constexpr std::uintptr_t huge = std::uintptr_t{2} << 20;
	const objects objs = allocate(cache, 2 * SEGMENT_SIZE / object_size);
	unsigned heads = 0;

	for (void *obj : objs) {
		if (reinterpret_cast<std::uintptr_t>(obj) % SEGMENT_SIZE >= huge)
			continue;
		EXPECT_FALSE(decay_would_waste(slab_of(obj)));
		heads++;
	}
	EXPECT_GT(heads, 0u);
	free_all(cache, objs);
}

} /* namespace */
