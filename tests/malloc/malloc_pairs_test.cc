/* SPDX-License-Identifier: MIT */
/* Frees that name the wrong size, or are of another kind than the allocation. Each test runs with
 * hardened frees, and with the debug flags F and U. */
#include "preloaded.h"

#include <slab/debug.h>

namespace
{

std::vector<std::string> reasons;
unsigned frames_allocated, frames_detected;

void catch_report(const struct slab_report *report, void *)
{
	reasons.emplace_back(report->reason);
	frames_allocated = report->allocated.frames;
	frames_detected = report->detected.frames;
}

/* A pointer of which the compiler does not know where it comes from. */
void *any(void *ptr)
{
	asm volatile("" : "+r"(ptr));
	return ptr;
}

bool is_tracked()
{
	return std::getenv("SLAB_DEBUG");
}

class Pairs : public testing::Test
{
protected:
	Pairs()
	{
		slab_set_report_handler(catch_report, nullptr);
		reasons.clear();
	}

	~Pairs() override { slab_set_report_handler(nullptr, nullptr); }

	/* One report, with both stacks where they are recorded. "": none. */
	void expect(const std::string &tracked, const std::string &hardened)
	{
		const std::string expected = is_tracked() ? tracked : hardened;

		EXPECT_EQ(reasons, expected.empty() ? std::vector<std::string>{}
						    : std::vector<std::string>{expected});
		if (!reasons.empty()) {
			EXPECT_GT(frames_detected, 0u);
			EXPECT_EQ(frames_allocated > 0, is_tracked());
		}
		reasons.clear();
	}

	const std::size_t right_ = hidden(304), wrong_ = hidden(4);
	const std::string size_ = "Freed as 4 bytes, allocated as 304",
			  class_ = "Freed as 4 bytes, allocated as 289 to 320";
};

TEST_F(Pairs, SizedDeleteNamesTheSize)
{
	::operator delete(::operator new(right_), wrong_);
	expect(size_, class_);
	::operator delete[](::operator new[](right_), wrong_);
	expect(size_, class_);
	::operator delete(::operator new(right_), hidden(400));
	expect("Freed as 400 bytes, allocated as 304",
	       "Freed as 400 bytes, allocated as 289 to 320");
}

TEST_F(Pairs, FreeSizedNamesTheSize)
{
	free_sized(malloc(right_), wrong_);
	expect(size_, class_);
	free_aligned_sized(aligned_alloc(16, right_), 16, wrong_);
	expect(size_, class_);
}

TEST_F(Pairs, LargeMemoryHasASize)
{
	free_sized(malloc(hidden(100000)), wrong_);
	expect("", "Freed as 4 bytes, allocated as 100000");
}

TEST_F(Pairs, DeleteIsForNew)
{
	::operator delete(any(malloc(right_)));
	expect("Freed by delete, allocated by malloc()", "");
	free(any(::operator new(right_)));
	expect("Freed by free(), allocated by new", "");
}

TEST_F(Pairs, DeleteOfArraysIsForArrays)
{
	::operator delete(any(::operator new[](right_)));
	expect("Freed by delete, allocated by new[]", "");
	::operator delete[](any(::operator new(right_)));
	expect("Freed by delete[], allocated by new", "");
}

/* The whole usable size is right, too: some programs ask for it. */
TEST_F(Pairs, WhatIsRightIsNotReported)
{
	struct alignas(64) line {
		std::array<char, 320> bytes;
	};
	void *memory = malloc(right_);

	free_sized(memory, malloc_usable_size(memory));
	::operator delete(::operator new(right_), right_);
	::operator delete[](::operator new[](right_, std::nothrow), right_);
	delete new line;
	delete[] new line[3];
	free_aligned_sized(aligned_alloc(256, right_), 256, right_);
	::operator delete(::operator new(wrong_, std::align_val_t{256}), wrong_,
			  std::align_val_t{256});
	free(realloc(malloc(wrong_), right_));
	free_sized(malloc(hidden(100000)), hidden(100000));
	::operator delete(nullptr, right_);
	expect("", "");
}

/* The second attempt is malloc() of the C++ library's operator. */
TEST_F(Pairs, NewThatFailsAtFirstIsNew)
{
	for (const char *spec : {"times=1,cache=size-*", "times=2,cache=size-*"}) {
		ASSERT_EQ(slab_set_fail(spec), 0);
		::operator delete(::operator new(right_, std::nothrow));
		ASSERT_EQ(slab_set_fail(spec), 0);
		::operator delete[](::operator new[](right_, std::nothrow));
		slab_set_fail(nullptr);
		expect("", "");
	}
}

} /* namespace */
