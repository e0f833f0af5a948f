/* SPDX-License-Identifier: MIT */
/* A cache at its limit whose objects move; the program has no control thread. */
#pragma once

#include "../support/orders.h"
#include "../support/without_thread.h"

constexpr std::size_t object_size = 480;

/*
 * A movable cache that is at its limit, and objects in half of its places. An object
 * knows its place; the lock is held from its isolation to its migration.
 */
class full_cache
{
public:
	explicit full_cache(std::size_t slabs, bool destroys = false)
	{
		struct slab_cache_args args = {};

		args.ctor = construct;
		if (destroys)
			args.dtor = [](void *obj, void *) {
				*static_cast<std::size_t *>(obj) = SIZE_MAX;
			};
		args.isolate = isolate;
		args.migrate = migrate;
		args.arg = this;
		cache_ = slab_cache_create("full", object_size, &args, 0);
		one_order(cache_);
		__atomic_store_n(&cache_->account.limit, slabs << cache_->large.shift,
				 __ATOMIC_RELAXED);
		while (void *obj = slab_alloc(cache_)) {
			place_.push_back(nullptr);
			put(place_.size() - 1, obj);
		}
		for (std::size_t i = 0; i < place_.size() / 2 * 2; i += 2)
			free(i);
	}

	~full_cache()
	{
		for (std::size_t i = 0; i < place_.size(); i++)
			free(i);
		EXPECT_EQ(slab_cache_destroy(cache_), 0);
	}

	full_cache(const full_cache &) = delete;
	full_cache &operator=(const full_cache &) = delete;

	std::function<void()> on_isolate;

	struct slab_cache *cache() const { return cache_; }

	std::size_t places() const { return place_.size(); }

	void put(std::size_t i, void *obj)
	{
		const std::lock_guard<std::mutex> guard(lock_);

		*static_cast<std::size_t *>(obj) = i;
		place_[i] = obj;
		used_++;
	}

	/* Places with an object: as many as this thread put there. */
	std::size_t used() const { return used_; }

	/* false: there was none. */
	bool free(std::size_t i)
	{
		void *obj = take(i);

		slab_free(cache_, obj);
		used_ -= obj != nullptr;
		return obj != nullptr;
	}

private:
	void *take(std::size_t i)
	{
		const std::lock_guard<std::mutex> guard(lock_);

		return std::exchange(place_[i], nullptr);
	}

	static int construct(void *obj, void *)
	{
		*static_cast<std::size_t *>(obj) = SIZE_MAX;
		return 0;
	}

	static int isolate(void *obj, void *arg)
	{
		auto &self = *static_cast<full_cache *>(arg);

		if (self.on_isolate)
			self.on_isolate();
		self.lock_.lock();
		const std::size_t i = *static_cast<std::size_t *>(obj);

		if (i < self.place_.size() && self.place_[i] == obj)
			return 0;
		self.lock_.unlock();
		return 1;
	}

	static int migrate(void *from, void *to, void *arg)
	{
		auto &self = *static_cast<full_cache *>(arg);

		std::memcpy(to, from, object_size);
		self.place_[*static_cast<std::size_t *>(to)] = to;
		self.lock_.unlock();
		return 0;
	}

	struct slab_cache *cache_;
	std::mutex lock_;
	std::vector<void *> place_;
	std::size_t used_ = 0;
};
