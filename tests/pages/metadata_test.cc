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

} /* namespace */
