/* SPDX-License-Identifier: MIT */
/* Descriptors: their sizes, their bits, records of debug slabs; blocks for other rooms. */
#include "segments.h"

namespace
{

using MetadataTest = SegmentTest;

/* --- classes --- */

/* The bytes of which a class has at most this many. */
std::size_t most_of(unsigned wanted)
{
	std::size_t bytes = 8;

	while (metadata_class(bytes + 8) <= wanted)
		bytes += 8;
	return bytes;
}

TEST_F(MetadataTest, ClassesUpToAKibibyteAreMultiplesOf64)
{
	EXPECT_EQ(metadata_class(sizeof(struct slab)), metadata_class(128));
	for (std::size_t bytes = 128; bytes < 1024; bytes += 64) {
		EXPECT_EQ(most_of(metadata_class(bytes)), bytes);
		EXPECT_EQ(metadata_class(bytes + 1), metadata_class(bytes) + 1);
	}
}

TEST_F(MetadataTest, LargerClassesAreAtMostAnEighthTooLarge)
{
	for (std::size_t bytes = 1032; bytes < 3 << 20; bytes += bytes / 64 * 8)
		EXPECT_LE(most_of(metadata_class(bytes)), bytes + bytes / 8 + 8) << bytes;
}

TEST_F(MetadataTest, NothingIsLargerThanAnArena)
{
	EXPECT_NE(metadata_class(3 << 20), METADATA_NONE);
	EXPECT_EQ(metadata_class(METADATA_ARENA_BYTES), METADATA_NONE);
}

/* --- descriptors --- */

TEST_F(MetadataTest, BitsOfADescriptorThatIsUsedAgainAre0)
{
	struct slab_needs what = needs(16, 1000);
	struct slab *slab;

	what.waiting = 34;
	slab = take(what);
	std::memset(slab->map, 0xff, (map_words(1000) + what.waiting) * 8);
	slab->free = slab->initialized = slab->up = slab->bucket = 77;
	slab->unbacked = 1;
	give_back();
	ASSERT_EQ(take(what), slab);
	for (unsigned i = 0; i < map_words(1000) + what.waiting; i++)
		EXPECT_EQ(slab->map[i], 0u);
	EXPECT_EQ(slab->free | slab->initialized | slab->up | slab->bucket, 0);
	EXPECT_EQ(slab->unbacked | slab->idle_since, 0u);
	EXPECT_EQ(slab->shard, nullptr);
	EXPECT_EQ(slab->debug, nullptr);
	EXPECT_EQ(slab->objects, 1000);
}

TEST_F(MetadataTest, RecordsLieBehindTheDescriptorAndOverlapNoOther)
{
	struct slab_needs what = needs(16, 0);
	std::set<std::uintptr_t> ends;

	what.side = 10000;
	for (unsigned i = 0; i < 20; i++) {
		struct slab *slab = take(what);

		ASSERT_NE(slab->debug, nullptr);
		EXPECT_EQ(slab->side, 10000u);
		EXPECT_GE(address(slab->debug), address(slab + 1));
		std::memset(reinterpret_cast<void *>(slab->debug), 0xff, what.side);
	}
	for (const struct slab *slab : taken_)
		EXPECT_EQ(slab_of(slab->base), slab);
}

/* Of 256 slabs. */
TEST_F(MetadataTest, DescriptorsThatNoSlabHasReturnTheirMemory)
{
	segment_trim();
	const std::uint64_t before = slab_pages.metadata_bytes;

	for (unsigned i = 0; i < 256; i++)
		take(16, 4096);
	EXPECT_GE(slab_pages.metadata_bytes, before + 256 * 512);
	give_all_back();
	segment_trim_metadata();
	EXPECT_LE(slab_pages.metadata_bytes, before + 65536);
}

TEST_F(MetadataTest, DescriptorsReturnTheirMemoryWhenTheyAreRipe)
{
	segment_trim();
	const std::uint64_t before = slab_pages.metadata_bytes;

	slab_set_idle_since(take(16, 5555), 1000);
	give_back();
	EXPECT_GT(slab_pages.metadata_bytes, before);
	segment_decay(1003);
	EXPECT_GT(slab_pages.metadata_bytes, before);
	segment_decay(1004);
	EXPECT_EQ(slab_pages.metadata_bytes, before);
}

/* Where both are missing. A process with little address space has room for descriptors then. */
TEST_F(MetadataTest, DescriptorsAreMappedBeforeASegment)
{
	struct slab_needs what = needs(LARGE_SHIFT_MAX, 0);
	const struct arena *arena;

	what.side = 3 << 20;
	fill_segments(LARGE_SHIFT_MAX);
	fill_metadata(what); /* no segment has two ranges of this size */
	const std::uint64_t before = slab_pages.segment_count;

	arena = metadata_arenas[0];
	os_protect_fails = 2;
	errno = 0;
	EXPECT_EQ(take_slab(what), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_NE(metadata_arenas[0], arena);
	EXPECT_EQ(slab_pages.segment_count, before);
}

/* --- blocks --- */

TEST_F(MetadataTest, BlocksAreZeroedAndDisjoint)
{
	std::vector<char *> blocks;

	for (unsigned i = 0; i < 100; i++) {
		auto *block = static_cast<char *>(metadata_block_take(3000));

		ASSERT_NE(block, nullptr);
		for (unsigned j = 0; j < 3000; j++)
			ASSERT_EQ(block[j], 0);
		std::memset(block, 1, 3000);
		blocks.push_back(block);
	}
	for (char *block : blocks)
		metadata_block_put(block);
	segment_trim_metadata();
}

TEST_F(MetadataTest, ABlockServesAgain)
{
	void *block = metadata_block_take(5000);

	metadata_block_put(block);
	EXPECT_EQ(metadata_block_take(5000), block);
	metadata_block_put(block);
}

TEST_F(MetadataTest, BlocksAreNeverDescriptors)
{
	auto *block = static_cast<char *>(metadata_block_take(128));

	metadata_block_put(block);
	for (unsigned i = 0; i < 600; i++)
		EXPECT_NE(address(take(16, 1)) & ~std::uintptr_t{65535},
			  address(block) & ~std::uintptr_t{65535});
}

TEST_F(MetadataTest, BlocksThatAreFreeReturnTheirMemory)
{
	segment_trim_metadata();
	const std::uint64_t before = slab_pages.metadata_bytes;
	void *block = metadata_block_take(std::size_t{32} << 10);

	ASSERT_NE(block, nullptr);
	EXPECT_GT(slab_pages.metadata_bytes, before);
	metadata_block_put(block);
	segment_trim_metadata();
	EXPECT_EQ(slab_pages.metadata_bytes, before);
}

TEST_F(MetadataTest, WhereNoMemoryCanBeMappedThereIsNoBlock)
{
	EXPECT_IN_CHILD([] {
		slab_set_fail("interval=1,times=-1");
		for (unsigned i = 0; i < 200; i++)
			if (!metadata_block_take(std::size_t{32} << 10))
				return errno == ENOMEM ? 0 : 1;
		return 2;
	});
}

/* Segments whose units are unmapped, and mapped again. */

/* Called when so many bytes are unmapped, for the first time: may they be? */
std::function<bool()> on_unmap;

} /* namespace */

extern "C" int munmap(void *start, std::size_t bytes) noexcept
{
	if (bytes >= SEGMENT_SIZE / 2 && on_unmap && !std::exchange(on_unmap, nullptr)()) {
		errno = ENOMEM;
		return -1;
	}
	return static_cast<int>(syscall(SYS_munmap, start, bytes));
}

namespace
{

bool is_mapped(const void *address)
{
	unsigned char status;

	return mincore(const_cast<void *>(address), 1, &status) == 0;
}

/* The base of a slab in a segment whose units are all free, and unmapped. */
class UnmappedSegment : public SegmentTest
{
protected:
	UnmappedSegment() { EXPECT_GE(unmap(), SEGMENT_SIZE / 2); }

	std::size_t unmap(const std::function<bool()> &hook = nullptr)
	{
		segment_trim();
		for (segments_ = slab_pages.segment_count; segments_ == slab_pages.segment_count;)
			base_ = take(LARGE_SHIFT_MAX, 1)->base;
		/* The others stay in use, so no segment has room for a slab of this size. */
		slab_populate(taken_.back(), 3 * page);
		give_back();
		segments_ = slab_pages.segment_count;
		on_unmap = hook;
		return segment_unmap_free();
	}

	std::uint64_t segments_;
	char *base_ = nullptr;
};

TEST_F(UnmappedSegment, HasNoAddressesButThoseOfItsHead)
{
	EXPECT_FALSE(is_mapped(base_));
	EXPECT_TRUE(is_mapped(segment_of(base_)));
	EXPECT_EQ(slab_of(base_), &slab_none);
	EXPECT_EQ(segment_unmap_free(), 0u);
}

TEST_F(UnmappedSegment, HoldsNoMemory)
{
	EXPECT_EQ(cached(), 0u);
}

TEST_F(UnmappedSegment, IsMappedAgainForTheNextSlab)
{
	const struct slab *slab = take(LARGE_SHIFT_MAX, 1);

	EXPECT_EQ(slab->base, base_);
	EXPECT_EQ(slab->populated, 0u);
	base_[0] = 1;
	EXPECT_EQ(slab_pages.segment_count, segments_);
}

TEST_F(UnmappedSegment, IsLeftAloneIfItsAddressesAreInUse)
{
	void *other = mmap(base_, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_EQ(other, base_);
	EXPECT_NE(take(LARGE_SHIFT_MAX, 1)->base, base_);
	EXPECT_EQ(slab_pages.segment_count, segments_ + 1);
	munmap(other, page);
}

/* The process has too many mappings. */
TEST_F(UnmappedSegment, ThatCannotBeUnmappedServesAgain)
{
	EXPECT_EQ(unmap([] { return false; }), 0u);
	EXPECT_EQ(take(LARGE_SHIFT_MAX, 1)->base, base_);
	EXPECT_EQ(slab_pages.segment_count, segments_);
}

/* Between two states, the child would have neither. */
TEST_F(UnmappedSegment, NoForkSeesThatItIsBeingUnmapped)
{
	std::atomic<bool> has_forked{false};
	bool was_seen = false;
	std::thread forking;

	const std::size_t unmapped = unmap([&] {
		forking = std::thread([&] {
			const pid_t child = fork();

			if (child == 0)
				_exit(0);
			has_forked = true;
			waitpid(child, nullptr, 0);
		});
		std::this_thread::sleep_for(std::chrono::milliseconds(100));
		was_seen = has_forked;
		return true;
	});

	EXPECT_GE(unmapped, SEGMENT_SIZE / 2);
	forking.join();
	EXPECT_FALSE(was_seen);
}

using MappedSegment = SegmentTest;

TEST_F(MappedSegment, StaysWhileASlabIsInUse)
{
	const struct slab *slab = take(17, 100);

	segment_trim();
	segment_unmap_free();
	EXPECT_TRUE(is_mapped(slab->base));
}

/* The address space of a cache with SLAB_APART: vacant slabs, and whom they serve. */

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
