/* SPDX-License-Identifier: MIT */
/*
 * The ownership oracle of the stress tests.
 *
 * Every allocated object is owned by one stamp, a number that was never used
 * before, written over the whole object and remembered outside of it. Threads (worker.h)
 * pass objects on through a board of exchange places, and the thread that frees an
 * object verifies its stamp first. When the allocator hands an object out twice,
 * the second owner's stamp destroys the first one's; when two objects overlap,
 * or the library writes to an object in use, a part of a stamp is wrong; an
 * object that is lost shows in the statistics at the end.
 */
#pragma once

#include "objects.h"

/* An object and the stamp that it must bear. */
struct owned_object {
	void *obj = nullptr;
	std::size_t kind = 0; /* which of the arena's caches */
	std::uint64_t stamp = 0;
};

/*
 * Places where threads leave objects for each other. A place is empty, full, or
 * busy while a thread moves an object in or out; no thread waits for a busy one.
 */
class exchange_board
{
public:
	explicit exchange_board(std::size_t places) : places_(places) {}

	/* Leave `object` at a place; false when it is not empty. */
	bool leave(std::size_t index, const owned_object &object)
	{
		place &at = places_[index % places_.size()];

		if (!at.become(EMPTY, BUSY))
			return false;
		at.object = object;
		at.state.store(FULL, std::memory_order_release);
		return true;
	}

	/* Take an object from a place; false when it is not full. */
	bool take(std::size_t index, owned_object &object)
	{
		place &at = places_[index % places_.size()];

		if (!at.become(FULL, BUSY))
			return false;
		object = at.object;
		at.state.store(EMPTY, std::memory_order_release);
		return true;
	}

	std::size_t size() const { return places_.size(); }

private:
	enum state : int { EMPTY, FULL, BUSY };

	struct place {
		bool become(int from, int to)
		{
			return state.compare_exchange_strong(from, to, std::memory_order_acquire,
							     std::memory_order_relaxed);
		}

		std::atomic<int> state{EMPTY};
		owned_object object;
	};

	std::vector<place> places_;
};

/* The caches of a stress test, the board, and what went wrong. */
class arena
{
public:
	explicit arena(const std::vector<std::size_t> &sizes) : board_(256), sizes_(sizes)
	{
		for (std::size_t size : sizes)
			caches_.push_back(std::make_unique<test_cache>(size));
	}

	struct slab_cache *cache(std::size_t kind) const { return *caches_[kind]; }

	std::size_t kinds() const { return caches_.size(); }

	exchange_board &board() { return board_; }

	owned_object adopt(void *obj, std::size_t kind)
	{
		owned_object object;

		object.obj = obj;
		object.kind = kind;
		object.stamp = next_stamp_.fetch_add(1, std::memory_order_relaxed);
		fill(obj, sizes_[kind], object.stamp);
		return object;
	}

	void verify(const owned_object &object)
	{
		if (!intact(object.obj, sizes_[object.kind], object.stamp))
			damaged_++;
	}

	void release(const owned_object &object)
	{
		verify(object);
		slab_free(cache(object.kind), object.obj);
	}

	bool healthy() const { return damaged_ == 0 && failed_ == 0; }

	void allocation_failed() { failed_++; }

	/* One thread allocates what another one frees: object number n of each. */
	void produce(std::size_t &n)
	{
		const std::size_t kind = n % kinds();
		const owned_object object = adopt(slab_alloc(cache(kind)), kind);

		if (board_.leave(n, object))
			n++;
		else
			release(object);
	}

	void consume(std::size_t &n)
	{
		owned_object object;

		if (board_.take(n, object)) {
			release(object);
			n++;
		} else {
			std::this_thread::yield();
		}
	}

	/* When all threads are done: free what was left on the board, and expect that
	 * nothing was damaged, lost or doubled. */
	void expect_whole()
	{
		owned_object object;

		for (std::size_t i = 0; i < board_.size(); i++)
			while (board_.take(i, object))
				release(object);
		EXPECT_EQ(damaged_, 0u) << "objects that another owner or the library wrote to";
		EXPECT_EQ(failed_, 0u) << "allocations without memory";
		EXPECT_GT(next_stamp_, 1u);
		for (std::size_t kind = 0; kind < kinds(); kind++) {
			EXPECT_EQ(stats_of(cache(kind)).objects, 0u) << sizes_[kind];
			EXPECT_EQ(slab_cache_validate(cache(kind)), 0) << sizes_[kind];
		}
	}

private:
	exchange_board board_;
	std::vector<std::size_t> sizes_;
	std::vector<std::unique_ptr<test_cache>> caches_;
	std::atomic<std::uint64_t> next_stamp_{1};
	std::atomic<unsigned> damaged_{0};
	std::atomic<unsigned> failed_{0};
};
