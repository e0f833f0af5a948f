/* SPDX-License-Identifier: MIT */
/*
 * Movable objects as a server would have them: entries with a reference count, found
 * through a table that owns the only pointer to each, and whose locks decide.
 *
 * An entry's life: refs 0 as constructed · refs 1, in the table · more while another thread
 * uses it · out of the table · refs 0, freed. It may move while the table's reference
 * is the only one; its lock is held from isolate() to migrate(), so no thread gets another.
 */
#ifndef TESTS_SUPPORT_MOVABLE_H
#define TESTS_SUPPORT_MOVABLE_H

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <slab/debug.h>
#include <slab/memory.h>
#include <slab/rcu.h>
#include <slab/slab.h>

#include "objects.h"
#include "process.h"

namespace slab_test
{

constexpr std::size_t entry_size = 712;

struct entry {
	std::atomic<unsigned> refs;
	std::atomic<std::size_t> key;
	unsigned char payload[entry_size - 2 * sizeof(std::size_t)];
};
static_assert(sizeof(entry) == entry_size, "an entry of 389-ds");

/* A cache of entries and the table that leads to them. */
class directory
{
public:
	/* What isolate() and migrate() call, with the entry's lock held: true: refuse. */
	std::function<bool(const entry &)> refuse = [](const entry &) { return false; };
	std::function<bool(const entry &)> fail = [](const entry &) { return false; };
	/* … and what isolate() does first, without it. */
	std::function<void()> before = [] {};

	explicit directory(std::size_t keys, std::uint64_t flags = 0,
			   const struct rcu_flavor_struct *rcu = nullptr, std::size_t limit = 0)
		: slots_(keys), waits_(rcu && !(flags & SLAB_TYPESAFE_BY_RCU))
	{
		struct slab_cache_args args = {};

		args.ctor = construct;
		args.isolate = isolate;
		args.migrate = migrate;
		args.arg = this;
		args.rcu = rcu;
		args.limit = limit;
		cache_ = std::make_unique<test_cache>(entry_size, flags, &args);
	}

	/* Everything is there, and goes. */
	~directory()
	{
		for (std::size_t key = 0; key < slots_.size(); key++)
			remove(key);
		if (waits_) {
			EXPECT_EQ(slab_rcu_barrier(*cache_), 0);
		}
		EXPECT_EQ(damaged, 0u);
		EXPECT_EQ(stats_of(*cache_).objects, 0u);
		EXPECT_EQ(slab_cache_validate(*cache_), 0);
	}

	directory(const directory &) = delete;
	directory &operator=(const directory &) = delete;

	const test_cache &cache() const
	{
		return *cache_;
	}

	std::size_t keys() const
	{
		return slots_.size();
	}

	/* false: it is there already. */
	bool insert(std::size_t key)
	{
		auto *made = static_cast<entry *>(slab_alloc(*cache_));

		if (!made)
			return false;
		EXPECT_EQ(made->refs.load(std::memory_order_relaxed), 0u) << "not as constructed";
		made->key.store(key, std::memory_order_relaxed);
		see_readers();
		fill(made->payload, sizeof(made->payload), key);
		made->refs.store(1, std::memory_order_release);
		{
			std::lock_guard<std::mutex> lock(lock_of(key));
			entry *none = nullptr;

			if (slots_[key].compare_exchange_strong(none, made,
								std::memory_order_acq_rel))
				return true;
		}
		put(made);
		return false;
	}

	bool remove(std::size_t key)
	{
		entry *removed;
		{
			std::lock_guard<std::mutex> lock(lock_of(key));

			removed = slots_[key].exchange(nullptr, std::memory_order_acq_rel);
		}
		if (!removed)
			return false;
		verify(removed, key);
		put(removed);
		return true;
	}

	/* With a reference; NULL: it is not there. */
	entry *get(std::size_t key)
	{
		std::lock_guard<std::mutex> lock(lock_of(key));
		entry *found = slots_[key].load(std::memory_order_relaxed);

		if (found)
			found->refs.fetch_add(1, std::memory_order_relaxed);
		return found;
	}

	void put(entry *given)
	{
		if (given->refs.fetch_sub(1, std::memory_order_acq_rel) != 1)
			return;
		if (waits_)
			slab_free_rcu(*cache_, given);
		else
			slab_free(*cache_, given);
	}

	/* For readers without locks, and for comparisons. */
	entry *at(std::size_t key) const
	{
		return slots_[key].load(std::memory_order_acquire);
	}

	bool is_whole(const entry *seen, std::size_t key) const
	{
		return seen->key.load(std::memory_order_relaxed) == key &&
		       intact(seen->payload, sizeof(seen->payload), key);
	}

	/* At the end of a reader's section. */
	void end_section()
	{
		sections_.fetch_add(1, std::memory_order_release);
	}

	void verify(const entry *seen, std::size_t key)
	{
		damaged += !is_whole(seen, key);
	}

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

	std::vector<entry *> places() const
	{
		std::vector<entry *> all;

		for (const auto &slot : slots_)
			all.push_back(slot.load(std::memory_order_acquire));
		return all;
	}

	void verify_all()
	{
		for (std::size_t key = 0; key < keys(); key++)
			if (const entry *here = at(key))
				verify(here, key);
		EXPECT_EQ(damaged, 0u);
	}

	std::uint64_t slabs() const
	{
		return stats_of(*cache_).slabs;
	}

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

	std::atomic<unsigned> damaged{0};

private:
	std::mutex &lock_of(std::size_t key)
	{
		return locks_[key % locks_.size()];
	}

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

	/* ThreadSanitizer does not see grace periods: what a reader did within its section
	 * happens before memory is written again. */
	void see_readers() const
	{
		static_cast<void>(sections_.load(std::memory_order_acquire));
	}

	std::atomic<unsigned> sections_{0};
	std::vector<std::atomic<entry *>> slots_;
	bool waits_;
	std::array<std::mutex, 64> locks_;
	std::unique_ptr<test_cache> cache_;
};

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_MOVABLE_H */
