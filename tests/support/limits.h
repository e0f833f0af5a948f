/* SPDX-License-Identifier: MIT */
/*
 * Exhausting memory: limits for a while, all objects that are to be had, failures on
 * purpose.
 */
#ifndef TESTS_SUPPORT_LIMITS_H
#define TESTS_SUPPORT_LIMITS_H

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <slab/debug.h>
#include <slab/memory.h>

#include "objects.h"

extern "C" {
#include "pages/account.h"
}

namespace slab_test
{

/* Bytes in the process's account. */
inline std::size_t used_bytes()
{
	return __atomic_load_n(&slab_pages.account.used, __ATOMIC_RELAXED);
}

inline std::size_t slab_bytes_of(struct slab_cache *cache)
{
	return std::size_t{4096} << stats_of(cache).order;
}

/* The process may have `bytes` more than it has. */
class process_limit
{
public:
	explicit process_limit(std::size_t more) : bytes(used_bytes() + more)
	{
		slab_set_limit(bytes);
	}

	~process_limit()
	{
		slab_set_limit(0);
	}

	process_limit(const process_limit &) = delete;
	process_limit &operator=(const process_limit &) = delete;

	const std::size_t bytes;
};

/* Failures on purpose. */
class failing
{
public:
	explicit failing(const std::string &spec)
	{
		EXPECT_EQ(slab_set_fail(spec.c_str()), 0) << spec;
	}

	~failing()
	{
		slab_set_fail(nullptr);
	}

	failing(const failing &) = delete;
	failing &operator=(const failing &) = delete;
};

/* Objects until the first that is not to be had. */
inline std::vector<void *> allocate_all(struct slab_cache *cache, std::size_t at_most = 100000)
{
	std::vector<void *> objects;

	while (objects.size() < at_most) {
		void *obj = slab_alloc(cache);

		if (!obj)
			break;
		objects.push_back(obj);
	}
	return objects;
}

/* Leaves no limit and no failure behind. */
class LimitTest : public testing::Test
{
protected:
	void TearDown() override
	{
		slab_set_limit(0);
		slab_set_limit_handler(nullptr, nullptr);
		slab_set_fail(nullptr);
	}
};

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_LIMITS_H */
