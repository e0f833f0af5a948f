/* SPDX-License-Identifier: MIT */
/* Memory of another process: the parts that are read, in any pieces, and no others. */
#include "../support/server.h"

extern "C" {
#include "memory_source.h"
}

namespace
{

/* Of a process whose caches cannot be read: all that can be is libslab's own data. */
struct data_alone {
	const struct memory_source *source;
	std::uint64_t start, end;
} readable;

int read_data_alone(struct memory *memory, std::uint64_t address, std::size_t size, void *to)
{
	if (address < readable.start || address + size > readable.end)
		return -EFAULT;
	return readable.source->read(memory, address, size, to);
}

TEST(MemorySourceTest, WhetherThereAreCachesIsKnownWithoutReadingThem)
{
	runtime_dir dir;
	server process("plain", PROGRAMS "silent_server");
	struct memory *memory = memory_open_process(process.pid(), "");
	struct memory_source source = {read_data_alone, nullptr, nullptr, nullptr, nullptr, true};
	struct slab_answer answer;

	ASSERT_NE(memory, nullptr);
	readable = {memory->source, UINT64_MAX, 0};
	for (std::size_t i = 0; i < memory->mappings; i++) {
		const struct mapping *at = &memory->mapping[i];

		if (!contains(at->path, "libslab"))
			continue;
		readable.start = std::min(readable.start, at->start);
		readable.end = std::max(readable.end,
					at->end + (16 << 20)); /* what is zero at first, too */
	}
	memory->source = &source;
	EXPECT_EQ(memory_find_root(memory), 0);
	EXPECT_EQ(memory_query(memory, "stats", &answer), -EFAULT);
	slab_answer_free(&answer);
	memory->source = readable.source;
	memory_close(memory);
}

/* The largest mapping, and what is in it. */
class PiecesTest : public testing::Test
{
protected:
	PiecesTest()
	{
		memory = memory_open_process(process.pid(), "");
		for (std::size_t i = 0; memory && i < memory->mappings; i++) {
			const struct mapping *at = &memory->mapping[i];

			if (!largest || at->end - at->start > largest->end - largest->start)
				largest = at;
		}
	}

	~PiecesTest() override { memory_close(memory); }

	/* Pieces as they are picked out of all that there is. */
	std::string picked(std::size_t size, std::size_t stride, std::size_t count)
	{
		std::string whole(count * stride, '\0'), pieces;

		EXPECT_EQ(memory_read_pieces(memory, largest->start, whole.size(), 0, 1,
					     whole.data()),
			  0);
		for (std::size_t i = 0; i < count; i++)
			pieces += whole.substr(i * stride, size);
		return pieces;
	}

	std::string read(std::size_t size, std::size_t stride, std::size_t count)
	{
		std::string pieces(size * count, '\0');

		EXPECT_EQ(memory_read_pieces(memory, largest->start, size, stride, count,
					     pieces.data()),
			  0);
		return pieces;
	}

	runtime_dir dir;
	server process;
	struct memory *memory;
	const struct mapping *largest = nullptr;
};

TEST_F(PiecesTest, PiecesAreTheSameHoweverFarApart)
{
	ASSERT_NE(largest, nullptr);
	const std::size_t bytes = largest->end - largest->start;

	for (std::size_t stride : {128, 256, 2176, 4095, 4096, 5000, 16384})
		EXPECT_EQ(read(128, stride, bytes / stride), picked(128, stride, bytes / stride))
			<< stride;
}

TEST_F(PiecesTest, MorePiecesThanTheKernelTakesAtOnce)
{
	std::string pieces(3000, '\0');

	ASSERT_NE(largest, nullptr);
	EXPECT_EQ(read(1, 3, 3000), picked(1, 3, 3000));
	EXPECT_EQ(memory->source->read_pieces(memory, largest->start, 1, 1, 3000, pieces.data()),
		  0);
	EXPECT_EQ(pieces, picked(1, 1, 3000));
}

TEST_F(PiecesTest, WhatIsNotThereFailsThisCallAlone)
{
	char byte;

	ASSERT_NE(largest, nullptr);
	EXPECT_EQ(memory_read_pieces(memory, 0, 1, 1, 1, &byte), -EFAULT);
	EXPECT_EQ(memory_read_pieces(memory, ~UINT64_C(0) - 8, 64, 64, 1, &byte), -EFAULT);
	EXPECT_EQ(memory_read_pieces(memory, largest->start, 1, 1, 1, &byte), 0);
}

} /* namespace */
