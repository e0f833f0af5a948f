/* SPDX-License-Identifier: MIT */
/*
 * Exhausting memory: limits for a while, all objects that are to be had, failures on
 * purpose.
 */
#pragma once

#include "cpus.h"
#include "objects.h"
#include "rooms.h"

/* Bytes in the process's account. */
inline std::size_t used_bytes()
{
	return __atomic_load_n(&slab_pages.account.used, __ATOMIC_RELAXED);
}

inline std::size_t slab_bytes_of(struct slab_cache *cache)
{
	return std::size_t{4096} << stats_of(cache).order;
}

/* The objects that a cache without any has room for in this number of bytes: in small slabs, in
 * large ones when it has grown, and in small ones where a large one does not fit. */
inline std::size_t room_within(struct slab_cache *cache, std::size_t bytes)
{
	std::size_t used = 0, objects = 0;

	for (;;) {
		const struct slab_order *order = cache_order_at(cache, used);

		if (used + (std::size_t{1} << order->shift) > bytes)
			order = &cache->small;
		if (used + (std::size_t{1} << order->shift) > bytes)
			return objects;
		used += std::size_t{1} << order->shift;
		objects += order->objects;
	}
}

inline std::uint64_t read_stat(struct slab_cache *cache, const char *name)
{
	std::uint64_t value = ~UINT64_C(0);

	EXPECT_EQ(slab_stat_read(cache, name, &value), 0) << name;
	return value;
}

/* The process may have `bytes` more than it has. */
class process_limit
{
public:
	explicit process_limit(std::size_t more) : bytes(used_bytes() + more)
	{
		slab_set_limit(bytes);
	}

	~process_limit() { slab_set_limit(0); }

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

	~failing() { slab_set_fail(nullptr); }

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

/* Eight threads allocate and free at random, `steps` times each, and free all in the end:
 * the most objects that they had at once. */
inline std::size_t most_at_once(struct slab_cache *cache, unsigned steps)
{
	std::atomic<std::size_t> live{0}, most{0};
	std::vector<std::thread> threads;

	for (unsigned t = 0; t < 8; t++)
		threads.emplace_back([&, t] {
			std::vector<void *> mine;
			std::mt19937 random(t);

			for (unsigned i = 0; i < steps; i++) {
				if (!mine.empty() && random() % 100 < 45) {
					EXPECT_TRUE(intact(mine.back(), 64, t));
					live--;
					slab_free(cache, mine.back());
					mine.pop_back();
				} else if (void *obj = slab_alloc(cache)) {
					const std::size_t now = ++live;
					std::size_t before = most;

					while (before < now &&
					       !most.compare_exchange_weak(before, now))
						;
					fill(obj, 64, t);
					mine.push_back(obj);
				}
			}
			live -= mine.size();
			free_many(cache, mine);
		});
	join_all(threads);
	return most;
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
