/* SPDX-License-Identifier: MIT */
/*
 * A node without free memory: eats all that node 1 has, so it runs nowhere but in a
 * machine of its own (machines.py).
 */
#include "../support/test.h"

#include <linux/mempolicy.h>

namespace
{

constexpr std::size_t page_bytes = 4096, object_size = 4096;
constexpr int full = 1;

int node_of(void *page)
{
	int status = -1;

	EXPECT_EQ(syscall(SYS_move_pages, 0, 1, &page, nullptr, &status, 0), 0);
	return status;
}

/* All memory of a node, as far as the system gives it to a thread that prefers the node. */
class hog
{
public:
	hog()
	{
		const unsigned long mask = 1UL << full;

		start_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		EXPECT_NE(start_, MAP_FAILED);
		madvise(start_, bytes, MADV_NOHUGEPAGE);
		EXPECT_EQ(syscall(SYS_mbind, start_, bytes, MPOL_PREFERRED, &mask, 64, 0), 0);
		/* Until 512 in a row are another node's. */
		for (std::size_t at = 0, others = 0; at < bytes && others < 512; at += page_bytes) {
			char *page = static_cast<char *>(start_) + at;

			*page = 1;
			others = node_of(page) == full ? 0 : others + 1;
		}
	}
	~hog() { munmap(start_, bytes); }
	hog(const hog &) = delete;
	hog &operator=(const hog &) = delete;

private:
	static constexpr std::size_t bytes = std::size_t{1} << 30;
	void *start_;
};

class FullNodeTest : public testing::Test
{
protected:
	~FullNodeTest() override
	{
		for (void *obj : held_)
			slab_free(cache_, obj);
		EXPECT_EQ(slab_cache_destroy(cache_), 0);
	}

	/* false: there was none. */
	bool take(int node)
	{
		void *obj = slab_alloc_node(cache_, node);

		if (!obj)
			return false;
		std::memset(obj, 1, object_size);
		held_.push_back(obj);
		return true;
	}

	struct slab_cache *cache_ = slab_cache_create("entry", object_size, nullptr, 0);
	std::vector<void *> held_;
};

TEST_F(FullNodeTest, TheMachineHasTwoNodes)
{
	struct slab_process_stats stats = {};

	stats.struct_size = sizeof(stats);
	ASSERT_EQ(slab_process_stats(&stats), 0);
	EXPECT_EQ(stats.nodes, 2u);
}

TEST_F(FullNodeTest, AStrictAllocationGetsNothingElse)
{
	const hog rest;
	unsigned refused = 0;

	for (int i = 0; i < 2000; i++) {
		errno = 0;
		if (take(full | SLAB_NODE_STRICT))
			continue;
		EXPECT_EQ(errno, ENOMEM);
		refused++;
	}
	EXPECT_GT(refused, 0u);
	for (void *obj : held_)
		ASSERT_EQ(node_of(obj), full);
}

TEST_F(FullNodeTest, APreferredAllocationIsServedByAnother)
{
	const hog rest;
	unsigned elsewhere = 0;

	for (int i = 0; i < 2000; i++)
		ASSERT_TRUE(take(full));
	for (void *obj : held_)
		elsewhere += node_of(obj) != full;
	EXPECT_GT(elsewhere, 0u);
}

} /* namespace */
