/* SPDX-License-Identifier: MIT */
/*
 * Random sequences of all functions against a model, which knows of each block its address, its
 * size and its contents. The seeds are fixed.
 */
#include "preloaded.h"

namespace
{

constexpr unsigned operations = 12000, blocks_max = 600;

struct block {
	std::size_t size;
	unsigned char byte; /* what the block is filled with, but for its ends */
};

class model
{
public:
	explicit model(unsigned seed, bool may_fail) : random_(seed), may_fail_(may_fail) {}

	~model()
	{
		while (!blocks_.empty())
			release(blocks_.begin());
	}

	void run()
	{
		for (unsigned i = 0; i < operations && !testing::Test::HasFailure(); i++) {
			const bool full = blocks_.size() >= blocks_max;

			switch (draw(full ? 4 : 10)) {
			case 0:
			case 1:
				if (!blocks_.empty())
					release(any());
				break;
			case 2:
			case 3:
				if (!blocks_.empty())
					resize(any());
				break;
			default:
				allocate();
			}
		}
	}

	unsigned failures() const { return failures_; }

private:
	using place = std::map<char *, block>::iterator;

	std::size_t draw(std::size_t below)
	{
		return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
	}

	/* Each power of two is as likely as the others; of those above 64 KiB there are few. */
	std::size_t size()
	{
		const std::size_t most = draw(20) ? 16 : 22;

		return draw((std::size_t(2) << draw(most)) + 1);
	}

	place any()
	{
		const place after = blocks_.lower_bound(reinterpret_cast<char *>(
			reinterpret_cast<std::uintptr_t>(blocks_.begin()->first) +
			draw(static_cast<std::size_t>(blocks_.rbegin()->first -
						      blocks_.begin()->first) +
			     1)));

		return after == blocks_.end() ? blocks_.begin() : after;
	}

	/* All bytes of small blocks, and both ends of large ones. */
	template <typename Each> static void each_byte(char *at, const block &b, Each each)
	{
		for (std::size_t i = 0; i < b.size;
		     i += i == 256 && b.size > 1024 ? b.size - 512 : 1)
			each(reinterpret_cast<unsigned char *>(at)[i],
			     static_cast<unsigned char>(b.byte + i));
	}

	static void fill(char *at, const block &b)
	{
		each_byte(at, b, [](unsigned char &byte, unsigned char value) { byte = value; });
	}

	static std::size_t wrong_bytes(char *at, const block &b)
	{
		std::size_t wrong = 0;

		each_byte(at, b,
			  [&](unsigned char byte, unsigned char value) { wrong += byte != value; });
		return wrong;
	}

	/* A new block: does it lie beside all others? */
	void add(char *at, std::size_t size)
	{
		const place after = blocks_.upper_bound(at);
		const block b = {size, static_cast<unsigned char>(draw(256))};

		EXPECT_GE(malloc_usable_size(at), size);
		EXPECT_TRUE(after == blocks_.end() || at + size <= after->first);
		EXPECT_TRUE(after == blocks_.begin() ||
			    at >= std::prev(after)->first + std::prev(after)->second.size);
		fill(at, b);
		blocks_[at] = b;
	}

	void expect_failure()
	{
		EXPECT_TRUE(may_fail_);
		EXPECT_EQ(errno, ENOMEM);
		failures_++;
	}

	char *allocate_aligned(std::size_t align, std::size_t size)
	{
		void *at = nullptr;

		switch (draw(3)) {
		case 0:
			return static_cast<char *>(aligned_alloc(align, size));
		case 1:
			return static_cast<char *>(memalign(align, size));
		default:
			errno = posix_memalign(&at, align, size);
			return static_cast<char *>(at);
		}
	}

	void allocate()
	{
		const std::size_t align = std::size_t(8) << draw(11), kind = draw(6);
		std::size_t bytes = size();
		char *at;

		if (kind == 0 || kind == 2)
			bytes = (bytes / 8 + 1) * 8;
		if (kind == 0)
			at = static_cast<char *>(calloc(bytes / 8, 8));
		else if (kind == 1)
			at = allocate_aligned(align, bytes);
		else if (kind == 2)
			at = static_cast<char *>(reallocarray(nullptr, bytes / 4, 4));
		else
			at = static_cast<char *>(malloc(bytes));
		if (!at) {
			expect_failure();
			return;
		}
		EXPECT_TRUE(is_aligned(at, kind == 1 ? align : 16));
		EXPECT_EQ(kind == 0 ? wrong_zeros(at, bytes) : 0U, 0U) << bytes;
		add(at, bytes);
	}

	static std::size_t wrong_zeros(const char *at, std::size_t size)
	{
		std::size_t wrong = 0;

		for (std::size_t i = 0; i < size; i++)
			wrong += at[i] != 0;
		return wrong;
	}

	void resize(place p)
	{
		char *at = p->first, *to;
		block b = p->second;
		const std::size_t bytes = size() + 1;

		EXPECT_EQ(wrong_bytes(at, b), 0U) << b.size;
		/* Large blocks keep their first bytes and those before their old end. */
		b.size = std::min({b.size, bytes, std::size_t(256)});
		to = static_cast<char *>(realloc(at, bytes));
		if (!to) {
			expect_failure();
			return;
		}
		EXPECT_EQ(wrong_bytes(to, b), 0U) << p->second.size << " to " << bytes;
		blocks_.erase(p);
		add(to, bytes);
	}

	void release(place p)
	{
		EXPECT_EQ(wrong_bytes(p->first, p->second), 0U) << p->second.size;
		if (draw(4))
			free(p->first);
		else
			free_sized(p->first, p->second.size);
		blocks_.erase(p);
	}

	std::mt19937 random_;
	const bool may_fail_;
	unsigned failures_ = 0;
	std::map<char *, block> blocks_;
};

class MallocFuzz : public testing::TestWithParam<unsigned>
{
};

TEST_P(MallocFuzz, TheModelHolds)
{
	model(GetParam(), false).run();
}

INSTANTIATE_TEST_SUITE_P(Seeds, MallocFuzz, testing::Values(1, 2, 3));

/* Each third allocation of pages fails. The model's own nodes may be among the victims. */
TEST(MallocFuzzFail, TheModelHolds)
{
	model m(4, true);
	bool out_of_memory = false;

	ASSERT_EQ(slab_set_fail("interval=3"), 0);
	try {
		m.run();
	} catch (const std::bad_alloc &) {
		out_of_memory = true;
	}
	ASSERT_EQ(slab_set_fail(nullptr), 0);
	EXPECT_TRUE(m.failures() || out_of_memory);
}

} /* namespace */
