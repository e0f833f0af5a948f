/* SPDX-License-Identifier: MIT */
/*
 * The shadow of memory that is in use: each block is filled with a pattern of its own, so that a
 * block that another one overlaps, or that libslab writes to, is seen when it is checked.
 */
#pragma once

#include "input.h"

namespace slab_fuzz
{

struct block {
	unsigned char *at;
	std::size_t size;
	unsigned char byte; /* what the first byte of the pattern is */
};

/* Small blocks have the pattern in all bytes, large ones at both ends. */
template <typename Each> void each_byte(const block &b, Each each)
{
	for (std::size_t i = 0; i < b.size; i += i == 255 && b.size > 1024 ? b.size - 511 : 1)
		each(b.at[i], static_cast<unsigned char>(b.byte + i));
}

inline void fill(const block &b)
{
	each_byte(b, [](unsigned char &byte, unsigned char value) { byte = value; });
}

inline void check(const block &b)
{
	each_byte(b, [](unsigned char byte, unsigned char value) { FUZZ_CHECK(byte == value); });
}

inline void check_zeros(const void *at, std::size_t size)
{
	const unsigned char *bytes = static_cast<const unsigned char *>(at);

	FUZZ_CHECK(std::all_of(bytes, bytes + size, [](unsigned char c) { return c == 0; }));
}

inline void check_aligned(const void *at, std::size_t align)
{
	FUZZ_CHECK(reinterpret_cast<std::uintptr_t>(at) % align == 0);
}

inline bool overlap(const block &a, const block &b)
{
	return a.at < b.at + b.size && b.at < a.at + a.size;
}

/* The blocks in use of one cache, or of malloc(). */
class blocks
{
public:
	/* A new block, which lies beside all others; filled. */
	void add(void *at, std::size_t size)
	{
		const block b = {static_cast<unsigned char *>(at), size, next_++};

		for (const block &other : all_)
			FUZZ_CHECK(!overlap(b, other));
		fill(b);
		all_.push_back(b);
	}

	/* Take one out; its bytes were as they should be. */
	block take(std::size_t i)
	{
		const block b = all_[i];

		check(b);
		all_[i] = all_.back();
		all_.pop_back();
		return b;
	}

	block *find(const void *at)
	{
		for (block &b : all_)
			if (b.at == at)
				return &b;
		return nullptr;
	}

	std::size_t size() const { return all_.size(); }

	const block &operator[](std::size_t i) const { return all_[i]; }

	void check_all() const
	{
		for (const block &b : all_)
			check(b);
	}

private:
	std::vector<block> all_;
	unsigned char next_ = 1;
};

} /* namespace slab_fuzz */
