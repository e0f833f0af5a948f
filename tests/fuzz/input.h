/* SPDX-License-Identifier: MIT */
/*
 * What a target makes of the bytes that the fuzzer gives it: numbers, drawn one after the other.
 * Behind the end all numbers are 0, so every input means something.
 */
#pragma once

#include "../support/test.h"

namespace slab_fuzz
{

class input
{
public:
	input(const std::uint8_t *data, std::size_t size) : at_(data), end_(data + size) {}

	bool empty() const { return at_ == end_; }

	unsigned byte() { return empty() ? 0 : *at_++; }

	/* From 0 to n - 1; of a small n it takes one byte, of others two. */
	unsigned below(unsigned n)
	{
		const unsigned low = byte();

		return (n > 256 ? low | byte() << 8 : low) % n;
	}

	/* Bytes up to the next zero, at most `most`. */
	std::string text(std::size_t most)
	{
		std::string made;

		for (unsigned next; made.size() < most && (next = byte());)
			made += static_cast<char>(next);
		return made;
	}

private:
	const std::uint8_t *at_, *end_;
};

} /* namespace slab_fuzz */

/* Unlike assert(), it is there in every build. */
#define FUZZ_CHECK(condition)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			dprintf(STDERR_FILENO, "%s:%d: not so: %s\n", __FILE__, __LINE__,          \
				#condition);                                                       \
			std::abort();                                                              \
		}                                                                                  \
	} while (0)

/* The functions of a target that libFuzzer, or replay.cc, calls. */
extern "C" {
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);
}
