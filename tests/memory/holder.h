/* SPDX-License-Identifier: MIT */
/* A cache whose objects args.reclaim frees, as many as a test wants. */
#pragma once

#include "../support/objects.h"
#include "../support/units.h"

/* A cache of things that need not be kept. */
struct holder {
	explicit holder(std::size_t objects, std::size_t limit = 0, std::size_t size = 1000,
			std::uint64_t flags = 0)
	{
		struct slab_cache_args args = {};

		args.limit = limit;
		args.arg = this;
		args.reclaim = [](struct slab_cache *asked, void *arg) -> std::size_t {
			auto *self = static_cast<holder *>(arg);

			EXPECT_EQ(asked, self->cache);
			return self->reclaim();
		};
		test = std::make_unique<test_cache>(size, flags, &args);
		cache = *test;
		held = alloc_many(cache, objects);
	}

	~holder()
	{
		if (cache)
			free_many(cache, held);
	}

	std::size_t reclaim()
	{
		std::size_t freed = 0;

		calls++;
		if (order)
			order->push_back(this);
		if (then)
			then();
		for (; freed < most && !held.empty(); freed++) {
			slab_free(cache, held.back());
			held.pop_back();
		}
		return freed + more;
	}

	std::unique_ptr<test_cache> test;
	struct slab_cache *cache;
	std::vector<void *> held;
	std::size_t most = ~std::size_t{0}; /* is freed by one call */
	std::size_t more = 0;                /* is reported as freed */
	std::atomic<unsigned> calls{0};
	std::vector<holder *> *order = nullptr;
	std::function<void()> then;
};
