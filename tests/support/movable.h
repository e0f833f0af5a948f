/* SPDX-License-Identifier: MIT */
/*
 * Movable objects as a server would have them: a directory of entries (entry_table.h).
 *
 * An entry may move while the table's reference is the only one; its lock is held from
 * isolate() to migrate(), so no thread gets another.
 */
#pragma once

#include "entry_table.h"
#include "orders.h"

/* A cache of entries and the table that leads to them. */
class directory : public entry_table
{
public:
	/* What isolate() and migrate() call, with the entry's lock held: true: refuse. */
	std::function<bool(const entry &)> refuse = [](const entry &) { return false; };
	std::function<bool(const entry &)> fail = [](const entry &) { return false; };
	/* … and what isolate() does first, without it. */
	std::function<void()> before = [] {};

	explicit directory(std::size_t keys, std::uint64_t flags = 0,
			   const struct rcu_flavor_struct *rcu = nullptr, std::size_t limit = 0)
		: entry_table(keys, rcu && !(flags & SLAB_TYPESAFE_BY_RCU))
	{
		struct slab_cache_args args = {};

		args.ctor = construct;
		args.isolate = isolate;
		args.migrate = migrate;
		args.arg = this;
		args.rcu = rcu;
		args.limit = limit;
		cache_ = std::make_unique<test_cache>(entry_size, flags, &args);
		one_order(*cache_);
	}

	~directory() { expect_whole(); }

	directory(const directory &) = delete;
	directory &operator=(const directory &) = delete;

	/* All keys, and then all but one in `part` of them, at random, go. */
	std::size_t thin_out(unsigned part)
	{
		std::mt19937 random(part);
		std::size_t left = 0;

		for (std::size_t key = 0; key < keys(); key++)
			EXPECT_TRUE(insert(key));
		for (std::size_t key = 0; key < keys(); key++)
			left += random() % part == 0 || !remove(key);
		slab_cache_shrink(*cache_);
		return left;
	}

	std::uint64_t slabs() const { return stats_of(*cache_).slabs; }

	/* The fewest slabs that n entries fit into. */
	std::uint64_t dense(std::size_t n) const
	{
		const std::size_t room = stats_of(*cache_).objects_per_slab;

		return (n + room - 1) / room;
	}

	/* No more than a tenth above that, where each node may have a slab that is not full. */
	void expect_dense(std::size_t n) const
	{
		const std::size_t nodes = stats_of(*cache_).nodes;

		EXPECT_LE(slabs() * 10, dense(n) * 11 + (nodes - 1) * 10);
	}

private:
	static int construct(void *obj, void *)
	{
		new (obj) entry{};
		return 0;
	}

	static int isolate(void *obj, void *arg)
	{
		auto *self = static_cast<directory *>(arg);
		auto *here = static_cast<entry *>(obj);
		unsigned one = 1;
		std::size_t key;

		self->before();
		/* Free, not in the table yet, or in use. */
		if (here->refs.load(std::memory_order_acquire) != 1)
			return 1;
		key = here->key.load(std::memory_order_relaxed);
		self->lock_of(key).lock();
		/* Readers without the lock may take a reference up to here. */
		if (self->slots_[key].load(std::memory_order_relaxed) == here &&
		    here->refs.load(std::memory_order_relaxed) == 1 && !self->refuse(*here) &&
		    here->refs.compare_exchange_strong(one, 0, std::memory_order_acq_rel))
			return 0;
		self->lock_of(key).unlock();
		return 1;
	}

	static int migrate(void *from_obj, void *to_obj, void *arg)
	{
		auto *self = static_cast<directory *>(arg);
		auto *from = static_cast<entry *>(from_obj), *to = static_cast<entry *>(to_obj);
		const std::size_t key = from->key.load(std::memory_order_relaxed);
		const bool fails = self->fail(*from);

		EXPECT_EQ(to->refs.load(std::memory_order_relaxed), 0u) << "not as constructed";
		if (!fails) {
			to->key.store(key, std::memory_order_relaxed);
			self->see_readers();
			std::memcpy(to->payload, from->payload, sizeof(to->payload));
			to->refs.store(1, std::memory_order_release);
			self->slots_[key].store(to, std::memory_order_release);
		} else {
			from->refs.store(1, std::memory_order_release);
		}
		self->lock_of(key).unlock();
		return fails;
	}
};
