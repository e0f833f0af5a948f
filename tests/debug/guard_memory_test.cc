/* SPDX-License-Identifier: MIT */
/*
 * The memory of sampled objects, once their slabs are free.
 */
#include "../support/guarded.h"
#include "../support/objects.h"
#include "../support/process.h"

namespace
{

/* A slab without memory leaves its units to slabs that need not be cleared. */
TEST_F(GuardTest, MemoryThatIsLockedIsNotTakenForMemoryThatWasReturned)
{
	if (under_asan || under_tsan)
		GTEST_SKIP() << "sanitizers keep mlock() from doing anything";

	static char *locked;
	static bool fails;
	struct slab_cache_args args = {};
	std::vector<char *> blocks;

	args.ctor = [](void *obj, void *) {
		locked = static_cast<char *>(obj) - number(obj) % page;
		std::memset(obj, 'x', object_size);
		return fails && mlock(locked, page) == 0 ? ENOMEM : 0;
	};
	test_cache cache(object_size, 0, &args);

	/* The object that is no sampled one because of the failure is there already. */
	void *other = slab_alloc(cache);
	slab_trim();
	sample_every(cache, 1);
	fails = true;
	void *obj = slab_alloc(cache);
	sample_every(cache, 0);
	ASSERT_FALSE(is_guarded(obj));
	for (int i = 0; i < 64; i++) {
		blocks.push_back(static_cast<char *>(large_calloc(guard_slab_bytes())));
		EXPECT_TRUE(all_bytes(blocks.back(), guard_slab_bytes(), 0));
	}
	for (char *block : blocks)
		slab_mfree(block);
	munlock(locked, page);
	slab_free(cache, obj);
	slab_free(cache, other);
}

} /* namespace */
