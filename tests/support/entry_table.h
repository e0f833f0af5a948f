/* SPDX-License-Identifier: MIT */
/*
 * Entries with a reference count, found through a table that owns the only pointer to each,
 * and whose locks decide.
 *
 * The states of an entry: refs 0 as constructed · refs 1, in the table · more while another
 * thread uses it · out of the table · refs 0, freed.
 */
#pragma once

#include "objects.h"

constexpr std::size_t entry_size = 712;

struct entry {
	std::atomic<unsigned> refs;
	std::atomic<std::size_t> key;
	unsigned char payload[entry_size - 2 * sizeof(std::size_t)];
};
static_assert(sizeof(entry) == entry_size, "an entry of 389-ds");

/* Keys and the entries that they lead to, of one cache. */
class entry_table
{
public:
	entry_table(const entry_table &) = delete;
	entry_table &operator=(const entry_table &) = delete;

	const test_cache &cache() const { return *cache_; }

	std::size_t keys() const { return slots_.size(); }

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
	entry *at(std::size_t key) const { return slots_[key].load(std::memory_order_acquire); }

	bool is_whole(const entry *seen, std::size_t key) const
	{
		return seen->key.load(std::memory_order_relaxed) == key &&
		       intact(seen->payload, sizeof(seen->payload), key);
	}

	/* At the end of a reader's section. */
	void end_section() { sections_.fetch_add(1, std::memory_order_release); }

	void verify(const entry *seen, std::size_t key) { damaged += !is_whole(seen, key); }

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

	std::atomic<unsigned> damaged{0};

protected:
	/* The derived class creates the cache. */
	entry_table(std::size_t keys, bool waits) : slots_(keys), waits_(waits) {}

	/* All entries are removed; none was damaged, and the cache is empty. */
	void expect_whole()
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

	std::mutex &lock_of(std::size_t key) { return locks_[key % locks_.size()]; }

	/* ThreadSanitizer does not see grace periods: what a reader did within its section
	 * happens before memory is written again. */
	void see_readers() const { static_cast<void>(sections_.load(std::memory_order_acquire)); }

	std::atomic<unsigned> sections_{0};
	std::vector<std::atomic<entry *>> slots_;
	bool waits_;
	std::array<std::mutex, 64> locks_;
	std::unique_ptr<test_cache> cache_;
};
