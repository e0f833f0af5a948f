/* SPDX-License-Identifier: MIT */
/* The address space of a cache with SLAB_APART: vacant slabs, and whom they serve. */
#include "segments.h"

namespace
{

constexpr unsigned shift = 16;
constexpr std::size_t bytes = std::size_t{1} << shift;

class SpaceTest : public SegmentTest
{
protected:
	static struct slab_needs of(struct space *space, std::uint32_t layout = 0)
	{
		struct slab_needs result = needs(shift, 100);

		result.space = space;
		result.layout = layout;
		return result;
	}

	/* A slab that was in use, and its start. */
	char *take_and_free(struct space *space, std::uint32_t layout = 0)
	{
		struct slab *slab = take_slab(of(space, layout));
		char *base = slab->base;

		slab_populate(slab, bytes);
		std::memset(base, 1, bytes);
		space_free_slab(space, slab, layout);
		return base;
	}

	/* Take a slab that the space gets back at the end. */
	struct slab *take_apart(struct space *space, std::uint32_t layout = 0)
	{
		struct slab *slab = take_slab(of(space, layout));

		if (slab)
			lent_.push_back({space, slab, layout});
		return slab;
	}

	~SpaceTest() override
	{
		for (const loan &l : lent_)
			space_free_slab(l.space, l.slab, l.layout);
	}

private:
	struct loan {
		struct space *space;
		struct slab *slab;
		std::uint32_t layout;
	};

	std::vector<loan> lent_;
};

struct space *make_space(std::uint64_t limit = 0)
{
	static auto *spaces = new std::deque<struct space>; /* their slabs stay in the segments */

	spaces->emplace_back().limit = limit;
	return &spaces->back();
}

TEST_F(SpaceTest, AVacantSlabServesItsSpaceAgain)
{
	struct space *space = make_space();
	char *base = take_and_free(space);
	struct slab *slab = take_apart(space);

	EXPECT_EQ(slab->base, base);
	EXPECT_EQ(slab->objects, 100u);
	EXPECT_EQ(slab->populated, 0u);
	EXPECT_EQ(slab->user, nullptr);
	EXPECT_EQ(slab_of(base + bytes - 1), slab);
	std::memset(base, 2, bytes);
	EXPECT_EQ(space->bytes, bytes);
}

TEST_F(SpaceTest, AVacantSlabServesItsLayoutAlone)
{
	struct space *space = make_space();
	char *base = take_and_free(space, 1);

	EXPECT_NE(take_apart(space, 2)->base, base);
	EXPECT_NE(take_apart(space, 0)->base, base);
	EXPECT_EQ(take_apart(space, 1)->base, base);
	EXPECT_EQ(space->bytes, 3 * bytes);
}

TEST_F(SpaceTest, AVacantSlabServesNobodyElse)
{
	struct space *space = make_space(), *other = make_space();
	char *base = take_and_free(space);

	for (unsigned i = 0; i < 600; i++) {
		EXPECT_NE(take(shift, 100)->base, base);
		EXPECT_NE(take_apart(other)->base, base);
	}
}

/* Not even units that never had an object of the space: what was at them before is not its type. */
TEST_F(SpaceTest, SharedUnitsServeNoSpace)
{
	struct space *space = make_space();
	std::set<char *> shared;

	for (unsigned i = 0; i < 100; i++)
		shared.insert(take(shift, 100)->base);
	give_all_back();
	for (unsigned i = 0; i < 600; i++)
		EXPECT_EQ(shared.count(take_apart(space)->base), 0u);
}

TEST_F(SpaceTest, AVacantSlabHasNoMemoryAndIsInaccessible)
{
	struct space *space = make_space();
	char *base = take_and_free(space);
	char byte;

	EXPECT_EQ(resident_bytes(base, bytes), 0u);
	EXPECT_EQ(peek(&byte, base, 1), -EFAULT);
	EXPECT_EQ(peek(&byte, base + bytes - 1, 1), -EFAULT);
}

TEST_F(SpaceTest, NoSlabIsTakenBeyondTheLimit)
{
	struct space *space = make_space(2 * bytes);

	ASSERT_NE(take_apart(space), nullptr);
	take_and_free(space);
	errno = 0;
	EXPECT_EQ(take_apart(space, 1), nullptr); /* vacant slabs count */
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_NE(take_apart(space), nullptr);
	EXPECT_EQ(take_apart(space), nullptr);
}

TEST_F(SpaceTest, AddressesThatCannotBeMadeAccessibleStayVacant)
{
	struct space *space = make_space();
	char *base = take_and_free(space);

	os_protect_fails = 1;
	errno = 0;
	EXPECT_EQ(take_apart(space), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_EQ(take_apart(space)->base, base);
}

TEST_F(SpaceTest, AddressesThatCannotBeMadeInaccessibleAreVacant)
{
	struct space *space = make_space();
	struct slab *slab = take_slab(of(space));
	char *base = slab->base;

	std::memset(base, 1, bytes);
	slab->populated = bytes;
	os_protect_fails = 1;
	space_free_slab(space, slab, 0);
	EXPECT_EQ(base[0], 0);
	EXPECT_EQ(take_apart(space)->base, base);
}

} /* namespace */
