/* SPDX-License-Identifier: MIT */
/* What children of fork() do in the tests of fork, and the status with which they end. */
#pragma once

#include "../support/objects.h"
#include "../support/process.h"

constexpr std::size_t object_size = 96;

/* Exit statuses of a child, so that a failure says what went wrong. */
enum child_status {
	CHILD_FINE,
	CHILD_NO_MEMORY = 10,
	CHILD_NOT_INTACT = 11,
	CHILD_NO_CACHE = 12,
	CHILD_NOT_DESTROYED = 13,
	CHILD_NOT_VALID = 14,
	CHILD_GRANDCHILD = 15,
};

/* Allocate, stamp, verify and free; and once more in another order. */
inline int use_cache(struct slab_cache *cache, std::size_t size)
{
	constexpr std::size_t n = 300;
	void *objs[n];

	for (int round = 0; round < 2; round++) {
		for (std::size_t i = 0; i < n; i++) {
			objs[i] = slab_alloc(cache);
			if (!objs[i])
				return CHILD_NO_MEMORY;
			fill(objs[i], size, i);
		}
		for (std::size_t i = 0; i < n; i++)
			if (!intact(objs[i], size, i))
				return CHILD_NOT_INTACT;
		for (std::size_t i = 0; i < n; i++)
			slab_free(cache, objs[i * 7 % n]);
	}
	return CHILD_FINE;
}

inline int use_own_cache()
{
	struct slab_cache *cache = slab_cache_create("child", 40, nullptr, 0);
	int status;

	if (!cache)
		return CHILD_NO_CACHE;
	status = use_cache(cache, 40);
	if (status == CHILD_FINE && slab_cache_destroy(cache) != 0)
		status = CHILD_NOT_DESTROYED;
	return status;
}

inline int use_malloc()
{
	for (std::size_t size : {20u, 500u, 9000u, 100000u}) {
		void *memory = slab_malloc(size);

		if (!memory)
			return CHILD_NO_MEMORY;
		fill(memory, size, size);
		memory = slab_realloc(memory, size * 2);
		if (!memory || !intact(memory, size & ~std::size_t{7}, size))
			return CHILD_NOT_INTACT;
		slab_mfree(memory);
	}
	return CHILD_FINE;
}

/* What every child does: the parent's objects, its cache, its own cache, sizes. */
inline int live(struct slab_cache *cache, const std::vector<void *> &parents)
{
	int status;

	for (std::size_t i = 0; i < parents.size(); i++) {
		if (!intact(parents[i], object_size, i))
			return CHILD_NOT_INTACT;
		slab_free(cache, parents[i]);
	}
	status = use_cache(cache, object_size);
	if (status == CHILD_FINE)
		status = use_own_cache();
	if (status == CHILD_FINE)
		status = use_malloc();
	if (status == CHILD_FINE && slab_cache_shrink(cache) < 0)
		status = CHILD_NOT_VALID;
	if (status == CHILD_FINE && slab_cache_validate(cache) != 0)
		status = CHILD_NOT_VALID;
	return status == CHILD_FINE ? use_cache(cache, object_size) : status;
}

inline std::vector<void *> stamped_objects(struct slab_cache *cache, std::size_t n)
{
	std::vector<void *> objs = alloc_many(cache, n);

	for (std::size_t i = 0; i < n; i++)
		fill(objs[i], object_size, i);
	return objs;
}

inline void expect_stamped(const std::vector<void *> &objs)
{
	for (std::size_t i = 0; i < objs.size(); i++)
		ASSERT_TRUE(intact(objs[i], object_size, i));
}

class ForkTest : public testing::Test
{
protected:
	/* The library has a thread of its own, and the children start theirs. */
	void SetUp() override
	{
		if (under_tsan)
			GTEST_SKIP() << "ThreadSanitizer ends children that start threads";
	}
};
