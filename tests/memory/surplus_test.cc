/* SPDX-License-Identifier: MIT */
/* What a process that frees much gives back at once, piece by piece. */
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/rooms.h"

namespace
{

constexpr std::uint64_t second = 1000000, decay_time = 10 * second; /* SLAB_DECAY_MS is not set */
constexpr std::uint64_t mib = 1 << 20, peak = 48 * mib, share = peak / 16;
constexpr std::size_t object = 512;

class Surplus : public testing::Test
{
protected:
	Surplus()
	{
		now_ += 2 * decay_time; /* what tests before this one did is over */
		slab_trim();
		growth_after_decay();
	}

	void grow_and_free()
	{
		std::vector<void *> objs = alloc_many(cache_, peak / object);

		growth_review();
		free_many(cache_, objs);
	}

	static std::uint64_t free_bytes()
	{
		return slab_pages.empty_bytes + slab_pages.free_slab_bytes;
	}

	static unsigned return_all()
	{
		unsigned pieces = 0;

		for (; surplus_is_due(now_) && pieces < 1000; pieces++)
			surplus_return(now_);
		return pieces;
	}

	const on_one_cpu here_;
	test_cache cache_{object};
	static inline std::uint64_t now_ = decay_time;
};

TEST_F(Surplus, StaysBelowAShareOfThePeak)
{
	grow_and_free();
	EXPECT_GT(free_bytes(), peak / 2);
	EXPECT_GT(return_all(), 1u);
	EXPECT_LE(free_bytes(), share + mib);
	EXPECT_LE(account_resident(), peak * 15 / 100);
}

TEST_F(Surplus, GoesInPieces)
{
	grow_and_free();
	const std::uint64_t before = free_bytes();

	surplus_return(now_);
	EXPECT_LT(free_bytes(), before);
	EXPECT_GE(free_bytes(), before - 8 * mib);
}

TEST_F(Surplus, IsKeptForADecayTimeIfItIsNeededAgain)
{
	grow_and_free();
	return_all();
	now_ += second;
	grow_and_free();
	const std::uint64_t before = free_bytes();

	EXPECT_LE(return_all(), 1u);
	EXPECT_EQ(free_bytes(), before);
	now_ += decay_time - 1;
	EXPECT_FALSE(surplus_is_due(now_));
	now_++;
	EXPECT_GT(return_all(), 1u);
	EXPECT_LE(free_bytes(), share + mib);
}

TEST_F(Surplus, IsNotAskedForAgainIfNoneCanBeReturned)
{
	std::vector<void *> objs = alloc_many(cache_, peak / object);

	growth_review();
	slab_pages.empty_bytes += 8 * mib; /* as slabs of caches with destructors */
	EXPECT_TRUE(surplus_is_due(now_));
	EXPECT_LE(return_all(), 2u);
	slab_pages.empty_bytes -= 8 * mib;
	free_many(cache_, objs);
}

} /* namespace */
