/* SPDX-License-Identifier: MIT */
/*
 * A program that replaces new and delete, and only these two: all other forms must call them. Its
 * blocks have a header, so no other function may free them.
 */
#include "preloaded.h"

namespace
{

std::atomic<long> blocks;
constexpr std::size_t header = 32;
constexpr std::size_t refused = 123456;

} /* namespace */

void *operator new(std::size_t size)
{
	char *block;

	if (size == refused)
		throw std::bad_alloc();
	block = static_cast<char *>(malloc(size + header));
	if (!block)
		throw std::bad_alloc();
	blocks++;
	return block + header;
}

/* That the forms with a size are not replaced is what is tested. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wsized-deallocation"
#endif

void operator delete(void *ptr) noexcept
{
	if (!ptr)
		return;
	blocks--;
	free(static_cast<char *>(ptr) - header);
}

namespace
{

/* How many blocks there are more while the pair of calls has one. */
template <typename Allocate, typename Release>
void expect_replaced(Allocate allocate, Release release)
{
	const long before = blocks;
	void *ptr = allocate();

	EXPECT_NE(ptr, nullptr);
	EXPECT_EQ(blocks, before + 1);
	release(ptr);
	EXPECT_EQ(blocks, before);
}

TEST(ReplacedOperators, ArraysUseThem)
{
	expect_replaced([] { return ::operator new[](100); },
			[](void *ptr) { ::operator delete[](ptr); });
}

TEST(ReplacedOperators, SizedDeleteUsesThem)
{
	expect_replaced([] { return ::operator new(100); },
			[](void *ptr) { ::operator delete(ptr, std::size_t(100)); });
	expect_replaced([] { return ::operator new[](100); },
			[](void *ptr) { ::operator delete[](ptr, std::size_t(100)); });
}

TEST(ReplacedOperators, NothrowUsesThem)
{
	expect_replaced([] { return ::operator new(100, std::nothrow); },
			[](void *ptr) { ::operator delete(ptr, std::nothrow); });
	expect_replaced([] { return ::operator new[](100, std::nothrow); },
			[](void *ptr) { ::operator delete[](ptr, std::nothrow); });
}

TEST(ReplacedOperators, NothrowCatchesTheirException)
{
	EXPECT_EQ(::operator new(refused, std::nothrow), nullptr);
	EXPECT_EQ(::operator new[](refused, std::nothrow), nullptr);
}

} /* namespace */
