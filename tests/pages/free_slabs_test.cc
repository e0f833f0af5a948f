/* SPDX-License-Identifier: MIT */
/* Units that no slab has: the order they are taken in, decay and trim. */
#include "../support/objects.h"
#include "segments.h"

namespace
{

constexpr unsigned small = 17, large = 20;

class FreeSlabs : public SegmentTest
{
protected:
	FreeSlabs() { segment_trim(); }

	/* Populated small slabs that fill an aligned range of a large one. Returns its start. */
	char *fill_range()
	{
		constexpr std::uintptr_t bytes = 1u << large;
		char *first = take_populated(large)->base;

		give_back();
		for (unsigned i = 0; i < 1u << (large - small); i++)
			EXPECT_EQ(address(take_populated(small)->base) / bytes,
				  address(first) / bytes);
		return first;
	}
};

/* --- which units a slab gets --- */

TEST_F(FreeSlabs, TheLowestRangeThatHoldsMemoryIsTakenFirst)
{
	char *first = fill_range();

	give_back(taken_[5]);
	give_back(taken_[2]);
	give_back(taken_[4]); /* the sixth */
	EXPECT_EQ(take(small, 300)->base, first + (2u << small));
	EXPECT_EQ(take(small, 300)->base, first + (5u << small));
}

TEST_F(FreeSlabs, WhereAllocationsOfPagesAreToFailNoneIsTaken)
{
	take(17, 300);
	give_back();
	ASSERT_EQ(slab_set_fail("times=1"), 0);
	errno = 0;
	EXPECT_EQ(take_slab(needs(17, 300)), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	slab_set_fail(nullptr);
}

/* Memory that a cache has freed serves every other one at once. */
TEST_F(FreeSlabs, MemoryServesASlabWithOtherObjects)
{
	struct slab *slab = take_populated(16);
	char *base = slab->base;

	base[5] = 5;
	give_back();
	const struct slab *other = take(16, 7000);

	EXPECT_EQ(other->base, base);
	EXPECT_NE(other, slab);
	EXPECT_EQ(other->populated, slab_bytes(other));
	EXPECT_EQ(base[5], 5);
	EXPECT_EQ(slab_of(base), other);
	EXPECT_EQ(slab_of(base + slab_bytes(other) - 1), other);
}

TEST_F(FreeSlabs, UnitsServeEverySize)
{
	std::set<char *> bases;

	for (unsigned i = 0; i < 8 * 32; i++) {
		struct slab *slab = take(16, 300);

		slab_populate(slab, page);
		bases.insert(slab->base);
	}
	const std::uint64_t before = slab_pages.segment_count;

	give_all_back();
	for (char *base : bases)
		EXPECT_EQ(slab_of(base), &slab_none);
	for (unsigned i = 0; i < 7; i++)
		take(21, 1);
	EXPECT_EQ(slab_pages.segment_count, before);
}

TEST_F(FreeSlabs, ALargerRangeServesSmallerSlabs)
{
	char *base = take_populated(large)->base;

	give_back();
	const struct slab *slab = take(small, 700);

	EXPECT_EQ(slab->base, base);
	EXPECT_EQ(slab->populated, slab_bytes(slab));
	EXPECT_EQ(slab_of(base + slab_bytes(slab) - 1), slab);
	EXPECT_EQ(slab_of(base + slab_bytes(slab)), &slab_none);
	EXPECT_EQ(cached(), (1u << large) - (1u << small));
	EXPECT_EQ(take(small, 700)->base, base + (1u << small));
}

TEST_F(FreeSlabs, OnlyThePopulatedPartIsFreeMemory)
{
	slab_populate(take(large, 300), 3u << small);
	give_back();
	EXPECT_EQ(cached(), 3u << small);
	take(small, 300);
	EXPECT_EQ(cached(), 2u << small);
}

TEST_F(FreeSlabs, AUnitWithOnePageCountsAsAWholeOne)
{
	struct slab *slab = take(large, 300);

	slab_populate(slab, page);
	give_back();
	EXPECT_EQ(cached(), std::max(UNIT_BYTES, page));
}

TEST_F(FreeSlabs, NeighboursServeALargerSlab)
{
	char *first = fill_range();

	give_all_back();
	const struct slab *slab = take(large, 500);

	EXPECT_EQ(slab->base, first);
	EXPECT_EQ(slab->populated, slab_bytes(slab));
	for (std::size_t at = 0; at < slab_bytes(slab); at += 16384)
		EXPECT_EQ(slab_of(first + at), slab);
	EXPECT_EQ(cached(), 0u);
}

TEST_F(FreeSlabs, ANeighbourInUseIsLeftAlone)
{
	char *first = fill_range();
	struct slab *kept = taken_.front();

	taken_.erase(taken_.begin());
	give_all_back();
	EXPECT_NE(take(large, 500)->base, first);
	EXPECT_EQ(slab_of(kept->base), kept);
	segment_free_slab(kept);
}

/* A large allocation of 5/8 of its slab, and the next one. */
TEST_F(FreeSlabs, AHalfThatHoldsMemoryComesBeforeAFreshRange)
{
	take_populated(large); /* below */
	struct slab *slab = take(large, 1);
	char *base = slab->base;

	slab_populate(slab, 5u << small);
	give_back();
	give_back();
	segment_trim();
	ASSERT_NE(take(large, 1), nullptr);
	slab = take(large, 1);
	ASSERT_EQ(slab->base, base);
	slab_populate(slab, 5u << small);
	give_back();
	give_back();
	slab = take(large, 1);
	EXPECT_EQ(slab->base, base);
	EXPECT_EQ(slab->populated, 5u << small);
	EXPECT_EQ(cached(), 0u);
}

/* Every size: within a word of a segment's map, and larger. */
TEST_F(FreeSlabs, AHalfThatHoldsMemoryIsFoundAtEverySize)
{
	for (unsigned shift = slab_least_shift() + 1; shift <= LARGE_SHIFT_MAX; shift++) {
		struct slab *slab = take(shift, 1);
		char *base = slab->base;

		slab_populate(slab, std::size_t{1} << (shift - 1));
		give_back();
		slab = take(shift, 1);
		EXPECT_EQ(slab->base, base) << shift;
		EXPECT_EQ(slab->populated, 1u << (shift - 1)) << shift;
		give_back();
		segment_trim();
	}
}

/* Only the range's first and last part hold memory, and all other ranges are in use. */
class Scattered : public FreeSlabs
{
protected:
	Scattered()
	{
		std::vector<struct slab *> parts;

		first_ = fill_range();
		parts.swap(taken_);
		while (segment_has_range(large, 0))
			take(large, 1);
		for (unsigned i = 1; i < parts.size() - 1; i++)
			segment_free_slab(parts[i]);
		segment_trim();
		segment_free_slab(parts.front());
		segment_free_slab(parts.back());
	}

	char *first_;
};

TEST_F(Scattered, MemoryIsReturnedWhenALargerSlabTakesIt)
{
	EXPECT_EQ(cached(), 2u << small);
	const struct slab *slab = take(large, 1);

	EXPECT_EQ(slab->base, first_);
	EXPECT_EQ(slab->populated, 1u << small);
	EXPECT_EQ(resident_bytes(slab), 1u << small);
	EXPECT_EQ(cached(), 0u);
}

TEST_F(Scattered, LockedMemoryCountsAsPopulated)
{
	char *last = first_ + (7u << small);

	ASSERT_EQ(syscall(SYS_mlock, last, 1u << small), 0);
	EXPECT_EQ(take(large, 1)->populated, 1u << large);
	syscall(SYS_munlock, last, 1u << small);
}

/* --- without growth --- */

TEST_F(FreeSlabs, WithoutGrowthOnlyUnitsThatHoldMemoryServe)
{
	struct slab_needs what = needs(small, 300);
	char *base = take_populated(small)->base;

	what.may_grow = false;
	errno = 0;
	EXPECT_EQ(take_slab(what), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	give_back();
	EXPECT_EQ(take(what)->base, base);
	EXPECT_EQ(take_slab(what), nullptr);
}

TEST_F(FreeSlabs, WithoutGrowthNoPartOfARangeMayBeMissing)
{
	struct slab_needs what = needs(large, 300);

	slab_populate(take(large, 300), 5u << small);
	give_back();
	what.may_grow = false;
	EXPECT_EQ(take_slab(what), nullptr);
}

TEST_F(FreeSlabs, WithoutGrowthNoDescriptorsAreMapped)
{
	struct slab_needs what = needs(small, 0);

	what.side = 3 << 20; /* an arena has room for one */
	fill_metadata(what);
	take_populated(small);
	give_back();
	what.may_grow = false;
	errno = 0;
	EXPECT_EQ(take_slab(what), nullptr);
	EXPECT_EQ(errno, ENOMEM);
}

/* --- users --- */

TEST_F(FreeSlabs, EachUnitOfASlabHasItsUser)
{
	struct slab *slab = take(small, 300);
	static const int user = 0;

	EXPECT_EQ(segment_user(slab->base), 0u);
	segment_set_user(slab, &user);
	EXPECT_EQ(slab->user, &user);
	for (std::size_t at = 0; at < slab_bytes(slab); at += UNIT_BYTES)
		EXPECT_EQ(segment_user(slab->base + at), address(&user));
	EXPECT_EQ(segment_user(slab->base + slab_bytes(slab)), 0u);
}

TEST_F(FreeSlabs, UnitsOfASlabThatWasFreedHaveNoUser)
{
	struct slab *slab = take(small, 300);
	char *base = slab->base;

	segment_set_user(slab, slab);
	give_back();
	for (std::size_t at = 0; at < 1u << small; at += UNIT_BYTES)
		EXPECT_EQ(segment_user(base + at), 0u);
}

/* --- returning memory --- */

TEST_F(FreeSlabs, FreeUnitsKeepTheirMemoryUntilTrimmed)
{
	struct slab *slab = take_populated(16);
	char *base = slab->base;
	const std::size_t bytes = slab_bytes(slab);

	std::memset(base, 1, bytes);
	EXPECT_EQ(cached(), 0u);
	give_back();
	EXPECT_EQ(cached(), bytes);
	EXPECT_EQ(resident_bytes(base, bytes), bytes);
	EXPECT_EQ(segment_trim(), bytes);
	EXPECT_EQ(cached(), 0u);
	EXPECT_EQ(resident_bytes(base, bytes), 0u);
	EXPECT_EQ(segment_trim(), 0u);
	slab = take(16, 500);
	ASSERT_EQ(slab->base, base);
	EXPECT_EQ(slab->populated, 0u);
	EXPECT_EQ(base[100], 0);
}

TEST_F(FreeSlabs, TrimLeavesSlabsInUseAlone)
{
	struct slab *slab = take(16, 500);

	slab_populate(slab, page);
	slab->base[100] = 1;
	segment_trim();
	EXPECT_EQ(slab->populated, page);
	EXPECT_EQ(slab->base[100], 1);
}

/* More runs than a thread takes at once. */
TEST_F(FreeSlabs, TrimReturnsManyRanges)
{
	std::vector<struct slab *> all;

	for (unsigned i = 0; i < 100; i++)
		all.push_back(take_populated(16));
	for (unsigned i = 0; i < all.size(); i += 2)
		give_back(all[i]);
	EXPECT_EQ(segment_trim(), 50u << 16);
	EXPECT_EQ(cached(), 0u);
}

TEST_F(FreeSlabs, LockedMemoryStays)
{
	struct slab *slab = take_populated(16);
	char *base = slab->base;

	ASSERT_EQ(syscall(SYS_mlock, base, 1 << 16), 0);
	give_back();
	EXPECT_EQ(segment_trim(), 0u);
	EXPECT_EQ(cached(), 1u << 16);
	syscall(SYS_munlock, base, 1 << 16);
	EXPECT_EQ(segment_trim(), 1u << 16);
}

TEST_F(FreeSlabs, DecayFindsTheOldestUnits)
{
	constexpr std::uint32_t now = 1000, old = now - DECAY_EPOCHS;

	for (const std::uint32_t since : {now, old})
		slab_set_idle_since(take_populated(16), since);
	give_all_back();
	EXPECT_EQ(segment_decay(now), std::size_t{1} << 16);
	EXPECT_EQ(segment_decay(now), 0u);
}

/* The units' ages have 16 bits. */
TEST_F(FreeSlabs, EpochsMayOverflow)
{
	constexpr std::uint32_t now = 0x20001;

	slab_set_idle_since(take_populated(16), now - DECAY_EPOCHS);
	give_back();
	EXPECT_EQ(segment_decay(now - 1), 0u);
	EXPECT_EQ(segment_decay(now), std::size_t{1} << 16);
}

TEST_F(FreeSlabs, DecayReturnsTheRestOfAnOldSlab)
{
	constexpr std::uint32_t now = 1000;

	slab_set_idle_since(take_populated(large), now - DECAY_EPOCHS);
	give_back();
	take(small, 300);
	EXPECT_EQ(segment_decay(now), (1u << large) - (1u << small));
}

TEST_F(FreeSlabs, WithoutDecayTimeNoUnitKeepsMemory)
{
	auto *options = const_cast<struct slab_options *>(slab_options());
	const auto was = options->decay_ms;
	char *base = take_populated(16)->base;

	options->decay_ms = 0;
	segment_discard(taken_.back());
	EXPECT_EQ(taken_.back()->populated, 0u);
	EXPECT_EQ(resident_bytes(base, 1 << 16), 0u);
	slab_populate(taken_.back(), 1 << 16);
	give_back();
	EXPECT_EQ(cached(), 0u);
	options->decay_ms = was;
}

/* The threads of a parent return memory; no child lacks a unit. */
TEST_F(FreeSlabs, ChildrenHaveTheUnitsWhoseMemoryTheirParentReturns)
{
	if (under_tsan)
		GTEST_SKIP() << "children of processes with threads";
	const test_cache first(64); /* it registers the handlers of fork */
	std::atomic<bool> ends{false};
	std::thread maker([&] {
		while (!ends) {
			struct slab *slab = take_slab(needs(16, 300));

			slab_populate(slab, slab_bytes(slab));
			segment_free_slab(slab);
			segment_trim();
		}
	});
	for (unsigned i = 0; i < 20; i++)
		EXPECT_IN_CHILD([]() -> int {
			for (const struct segment *s = segment_first(); s; s = s->next)
				for (const std::uint64_t word : s->busy)
					if (word)
						return 2;
			segment_trim();
			return cached() ? 1 : 0;
		});
	ends = true;
	maker.join();
}

/* Users of the page layer: large allocations that are slabs, and sizes of the slabs of caches. */

using LargeSlabs = SegmentTest;

/* Up to the largest slab, large allocations are slabs that are used again. */
TEST_F(LargeSlabs, LargeAllocationsThatFitAreSlabs)
{
	const std::uint64_t before = slab_pages.large_bytes;
	void *first = large_alloc(100000, 1);
	struct slab *slab = slab_of(first);

	ASSERT_NE(first, nullptr);
	EXPECT_NE(slab->shift, 0u);
	EXPECT_EQ(slab->large, 100000u);
	EXPECT_GE(slab->populated, 100000u);
	EXPECT_EQ(large_usable(slab), os_pages(100000));
	EXPECT_EQ(slab_pages.large_bytes, before + os_pages(100000));
	large_free(slab, first, nullptr);
	EXPECT_EQ(slab_of(first), &slab_none);
	EXPECT_EQ(slab_pages.large_bytes, before);
	first = large_alloc(70000, 1);
	EXPECT_NE(slab_of(first)->populated, 0u) << "what the first one left";
	large_free(slab_of(first), first, nullptr);
}

TEST_F(LargeSlabs, EverySizeOfObjectsHasSlabs)
{
	for (std::size_t size = 8; size <= SLAB_MAX_OBJECT_SIZE; size += 8 + size / 512 * 8) {
		test_cache cache(size);
		const struct slab_cache *c = cache;

		ASSERT_NE(c, nullptr) << size;
		for (const struct slab_order &order : {c->small, c->large}) {
			ASSERT_GE(order.objects, 1u) << size;
			ASSERT_LE(order.objects * c->size, std::size_t{1} << order.shift) << size;
			ASSERT_LE(order.objects, UINT16_MAX) << size;
		}
	}
}

} /* namespace */
