/* SPDX-License-Identifier: MIT */
/*
 * SLAB_HUGE: when fresh memory is populated as huge pages, and that nothing of one is lost. What
 * the system's setting is, and how long a huge page takes, is pretended.
 */
#include "../support/objects.h"
#include "segments.h"

namespace
{

constexpr unsigned shift = 16;

/* Units that are neither free nor a slab's. */
unsigned lost_units()
{
	unsigned lost = 0;

	for (const struct segment *s = segment_first(); s; s = s->next) {
		bool own = true; /* the segment's own pages come first */

		for (unsigned unit = 0; unit < SEGMENT_UNITS; unit++) {
			const bool none = !(s->free[unit / 64] >> unit % 64 & 1) &&
					  segment_slab(s, unit) == &slab_none;

			own = own && none;
			lost += none && !own;
		}
	}
	return lost;
}

class HugeTest : public SegmentTest
{
protected:
	HugeTest()
		: options_(const_cast<struct slab_options *>(slab_options())), was_(options_->huge)
	{
		setting("[madvise]");
		options_->huge = SLAB_HUGE_NEVER;
		take(shift, 300); /* there is a segment */
		give_back();
		options_->huge = SLAB_HUGE_ALWAYS;
		segment_trim();
	}

	~HugeTest() override
	{
		options_->huge = was_;
		huge_seems_to_take = 0;
		setting(nullptr);
	}

	static void setting(const char *text)
	{
		huge_system_setting = text;
		huge_forget();
	}

	/* huge_is_wanted() in a process whose slabs have `bytes` more. */
	static bool wanted_with(std::size_t bytes)
	{
		slab_pages.account.used += bytes;
		const bool wanted = huge_is_wanted();

		slab_pages.account.used -= bytes;
		return wanted;
	}

	/* Take a slab; true: it came with a huge page. The kernel may be too old, or have none. */
	bool takes_one()
	{
		const std::uint64_t before = slab_pages.free_slab_bytes;

		take(shift, 300);
		return slab_pages.free_slab_bytes > before;
	}

	/* Does the mapping with this address have the mark against huge pages? */
	static bool stays_small(const char *at)
	{
		std::ifstream maps("/proc/self/smaps");
		unsigned long start, end;
		bool found = false;

		for (std::string line; std::getline(maps, line);)
			if (std::sscanf(line.c_str(), "%lx-%lx ", &start, &end) == 2)
				found = start <= address(at) && address(at) < end;
			else if (found && line.rfind("VmFlags:", 0) == 0)
				return line.find(" nh") != std::string::npos;
		return false;
	}

	struct slab_options *options_;
	unsigned was_;
};

/* Huge pages have 2 MiB where small ones have 4 KiB; larger ones are not populated. */
TEST_F(HugeTest, WithLargerPagesNoneIsWanted)
{
	if (os_page_size() == 4096 && !in_environment({"SLAB_TEST_PAGE_SIZE=65536"}))
		return;
	EXPECT_NE(os_page_size(), 4096u);
	EXPECT_FALSE(huge_is_wanted());
}

TEST_F(HugeTest, TheSystemsSettingDecides)
{
	if (os_page_size() != 4096)
		GTEST_SKIP() << "no huge pages of 2 MiB";
	EXPECT_TRUE(huge_is_wanted());
	for (const char *text : {"[never]", "[always]", ""}) {
		setting(text);
		EXPECT_FALSE(huge_is_wanted()) << text;
	}
	setting("[always]");
	EXPECT_TRUE(huge_is_system_always());
}

/* khugepaged would fill them otherwise. In a child: the mark stays. */
TEST_F(HugeTest, WhereTheSystemUsesThemAlwaysHolesStay)
{
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
		GTEST_SKIP() << "no huge pages";
	take(LARGE_SHIFT_MAX, 1);
	setting("[always]");
	EXPECT_EQ(run_in_child([&] {
			  char *base = taken_.back()->base;

			  segment_of(base)->holes_stay = false;
			  segment_discard_part(base, HUGE_PAGE);

			  const bool early = stays_small(base);

			  segment_discard_part(base, HUGE_PAGE / 2);
			  return !early && stays_small(base) ? 0 : 1;
		  }),
		  "");
}

TEST_F(HugeTest, NeverIsNever)
{
	options_->huge = SLAB_HUGE_NEVER;
	EXPECT_FALSE(huge_is_wanted());
	EXPECT_FALSE(takes_one());
}

TEST_F(HugeTest, AutoLeavesSmallHeapsAlone)
{
	if (os_page_size() != 4096)
		GTEST_SKIP() << "no huge pages of 2 MiB";
	options_->huge = SLAB_HUGE_AUTO;
	EXPECT_FALSE(huge_is_wanted());
	EXPECT_TRUE(wanted_with(HUGE_LEAST));
	EXPECT_FALSE(huge_is_wanted());
}

TEST_F(HugeTest, AutoTakesTheNextOneWhenTheProcessHasGrown)
{
	huge_seems_to_take = 1;
	options_->huge = SLAB_HUGE_AUTO;
	slab_pages.account.used += HUGE_LEAST;
	if (takes_one()) {
		EXPECT_FALSE(huge_is_wanted());
		EXPECT_TRUE(wanted_with(HUGE_GROWTH));
	}
	slab_pages.account.used -= HUGE_LEAST;
}

TEST_F(HugeTest, AutoTakesTheNextOneAgainWhenTheProcessHasShrunk)
{
	huge_seems_to_take = 1;
	options_->huge = SLAB_HUGE_AUTO;
	slab_pages.account.used += 2 * HUGE_LEAST;
	const bool took = takes_one();

	slab_pages.account.used -= HUGE_LEAST;
	if (took) {
		EXPECT_FALSE(wanted_with(HUGE_GROWTH));
		huge_review();
		EXPECT_FALSE(huge_is_wanted());
		EXPECT_TRUE(wanted_with(HUGE_GROWTH));
	}
	slab_pages.account.used -= HUGE_LEAST;
}

TEST_F(HugeTest, OneServesManySlabs)
{
	if (!takes_one())
		GTEST_SKIP() << "no huge page";
	const std::uint64_t cached = slab_pages.free_slab_bytes;
	const std::uint64_t pieces = HUGE_PAGE >> shift;
	std::set<char *> bases{taken_.back()->base};

	EXPECT_EQ(cached, HUGE_PAGE - (1u << shift));
	EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*bases.begin()) % HUGE_PAGE, 0u)
		<< "the lowest is taken first";
	for (std::uint64_t i = 1; i < pieces; i++) {
		const struct slab *slab = take(shift, i % 2 ? 300 : 700);

		EXPECT_EQ(slab->populated, slab_bytes(slab));
		bases.insert(slab->base);
	}
	EXPECT_EQ(bases.size(), pieces);
	EXPECT_EQ(*bases.rbegin() - *bases.begin(), static_cast<long>(HUGE_PAGE - (1u << shift)));
	EXPECT_EQ(slab_pages.free_slab_bytes, 0u);
}

TEST_F(HugeTest, ItsFreeUnitsReturnTheirMemory)
{
	if (!takes_one())
		GTEST_SKIP() << "no huge page";
	char *base = taken_.back()->base;

	segment_trim();
	EXPECT_EQ(slab_pages.free_slab_bytes, 0u);
	EXPECT_EQ(resident_pages(base + (1u << shift), HUGE_PAGE - (1u << shift)), 0u);
	EXPECT_NE(resident_pages(base, 1u << shift), 0u);
}

TEST_F(HugeTest, AutoStopsAtTheFirstSlowOne)
{
	options_->huge = SLAB_HUGE_AUTO;
	slab_pages.account.used += HUGE_LEAST;
	huge_seems_to_take = HUGE_SLOW_US;
	const bool took = takes_one();

	EXPECT_FALSE(huge_is_wanted());
	slab_pages.account.used -= HUGE_LEAST;
	if (!took)
		GTEST_SKIP() << "no huge page";
}

TEST_F(HugeTest, AlwaysDoesNotMindSlowOnes)
{
	huge_seems_to_take = HUGE_SLOW_US;
	if (!takes_one())
		GTEST_SKIP() << "no huge page";
	EXPECT_TRUE(huge_is_wanted());
}

/* Where the system makes them by itself. */
TEST_F(HugeTest, DecayBreaksUpNoneThatIsMostlyInUse)
{
	constexpr unsigned pieces = HUGE_PAGE >> shift;
	std::vector<struct slab *> slabs;

	options_->huge = SLAB_HUGE_NEVER;
	char *base = take(HUGE_SHIFT, 1)->base;

	slab_populate(taken_.back(), HUGE_PAGE);
	give_back();
	for (unsigned i = 0; i < pieces; i++) {
		slabs.push_back(take(shift, 300));
		ASSERT_EQ(slabs.back()->base, base + (std::size_t{i} << shift));
	}
	setting("[always]");
	for (unsigned i = 0; i < pieces / 2 - 1; i++) {
		slab_set_idle_since(slabs[i], 1000);
		give_back(slabs[i]);
	}
	EXPECT_EQ(segment_decay(1004), 0u);
	slab_set_idle_since(slabs.back(), 1000);
	give_back(slabs.back());
	EXPECT_EQ(segment_decay(1004), HUGE_PAGE / 2);
}

/* A huge page is no reason to map a segment. */
TEST_F(HugeTest, WithoutARangeOfItsSizeSmallPagesServe)
{
	options_->huge = SLAB_HUGE_NEVER;
	const std::uint64_t before = fill_segments(HUGE_SHIFT);

	options_->huge = SLAB_HUGE_ALWAYS;
	EXPECT_EQ(take(shift, 300)->populated, 0u);
	EXPECT_EQ(slab_pages.segment_count, before);
}

/* A thread of the parent makes huge pages; no child lacks one. */
TEST_F(HugeTest, ChildrenHaveWhatTheirParentPopulates)
{
	if (under_tsan || !takes_one())
		GTEST_SKIP() << "no huge page";
	const test_cache first(64); /* it registers the handlers of fork */
	std::atomic<bool> ends{false};
	std::thread maker([&] {
		while (!ends) {
			segment_free_slab(take_slab(needs(shift, 300)));
			segment_trim();
		}
	});
	for (unsigned i = 0; i < 20; i++)
		EXPECT_IN_CHILD([]() -> int {
			segment_trim();
			if (slab_pages.free_slab_bytes)
				return 1;
			return lost_units() ? 2 : 0;
		});
	ends = true;
	maker.join();
}

TEST_F(HugeTest, LargeAllocationsAreNotCut)
{
	EXPECT_EQ(take(HUGE_SHIFT, 1)->populated, 0u);
}

TEST_F(HugeTest, ErrnoStays)
{
	errno = 77;
	takes_one();
	EXPECT_EQ(errno, 77);
}

} /* namespace */
