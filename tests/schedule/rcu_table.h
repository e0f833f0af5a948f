/* SPDX-License-Identifier: MIT */
/*
 * A flavour of RCU for the scheduler: a grace period waits for the sections that began before it,
 * and a thread of the test calls what call_rcu() queued.
 */
#pragma once

#include "scene.h"

class flavour_under_schedule
{
public:
	flavour_under_schedule()
	{
		functions_.read_ongoing = [] { return in_section ? 1 : 0; };
		functions_.update_call_rcu = [](struct rcu_callback *callback,
						void (*func)(struct rcu_callback *)) {
			callback->func = func;
			for (const auto &one : queue)
				EXPECT_NE(one.first, callback) << "queued twice";
			queue.push_back({callback, now++});
			schedule_point();
		};
		functions_.update_synchronize_rcu = [] { wait_for_readers(now++); };
		functions_.thread_offline = functions_.thread_online = [] {};
		queue.clear();
		sections.clear();
		users = 0;
	}

	const struct rcu_flavor_struct *get() const
	{
		return reinterpret_cast<const struct rcu_flavor_struct *>(&functions_);
	}

	static void lock()
	{
		in_section = now++;
		sections.insert(in_section);
		schedule_point();
	}

	static void unlock()
	{
		sections.erase(in_section);
		in_section = 0;
		schedule_point();
	}

	/* In the child of a fork. */
	static void forget_readers() { sections.clear(); }

	/* A thread that uses the flavour: the thread of callbacks ends after all of them. */
	static std::function<void()> user(const std::function<void()> &act)
	{
		users++;
		return [act] {
			act();
			users--;
		};
	}

	static void call_callbacks()
	{
		for (;;) {
			schedule_until([] { return !queue.empty() || !users; });
			if (queue.empty())
				return;
			const auto [callback, queued] = queue.front();

			queue.pop_front();
			wait_for_readers(queued);
			schedule_yield();
			callback->func(callback);
		}
	}

private:
	static void wait_for_readers(std::uint64_t before)
	{
		schedule_point();
		schedule_until([before] { return sections.empty() || *sections.begin() > before; });
	}

	static inline std::deque<std::pair<struct rcu_callback *, std::uint64_t>> queue;
	static inline std::set<std::uint64_t> sections;
	static inline std::uint64_t now = 1;
	static inline unsigned users;
	static inline thread_local std::uint64_t in_section;
	struct rcu_functions functions_ = {};
};

/* A cache with a table of objects: writers exchange them, readers look at them. */
class table
{
public:
	/* Arrays of waiting objects have this length; with 0, each free joins a phase itself. */
	explicit table(unsigned length, std::uint64_t backlog = 100000, std::uint64_t flags = 0)
	{
		args_.rcu = flavour_.get();
		all_ = std::make_unique<arena>(4, &args_, flags);
		cache()->rcu_max = length;
		cache()->rcu->backlog = backlog;
	}

	~table()
	{
		for (void *obj : places_)
			if (obj)
				all_->free(obj);
	}

	struct slab_cache *cache() const { return all_->cache(); }

	arena &objects() { return *all_; }

	const struct rcu_flavor_struct *flavour() const { return flavour_.get(); }

	void write(unsigned steps)
	{
		for (unsigned i = 0; i < steps; i++) {
			void *&place = places_[schedule_random(places_.size())];
			void *fresh = all_->alloc(), *old = place;

			place = fresh;
			schedule_point();
			if (old)
				unlinked(old);
		}
	}

	void read(unsigned steps)
	{
		for (unsigned i = 0; i < steps; i++) {
			flavour_under_schedule::lock();
			void *obj = places_[schedule_random(places_.size())];
			std::uint64_t mark = 0;

			if (obj)
				std::memcpy(&mark, obj, sizeof(mark));
			for (unsigned k = schedule_random(6); k; k--)
				schedule_point();
			if (obj) {
				EXPECT_EQ(std::memcmp(&mark, obj, sizeof(mark)), 0)
					<< "an object was used again while a reader looks";
			}
			flavour_under_schedule::unlock();
		}
	}

	/* The objects that were freed before are free when it returns. A child of fork lacks the
	 * one that a thread of its parent had begun to free. */
	void barrier()
	{
		const std::uint64_t before = freed_ - std::min<std::uint64_t>(freed_, lacks);

		EXPECT_EQ(slab_rcu_barrier(cache()), 0);
		EXPECT_GE(cache()->memory.rcu_freed, before) << "objects still wait";
	}

	unsigned lacks = 0;

	void unlinked(void *obj)
	{
		all_->give_up(obj);
		slab_free_rcu(cache(), obj);
		freed_++;
	}

private:
	flavour_under_schedule flavour_;
	struct slab_cache_args args_ = {};
	std::unique_ptr<arena> all_;
	std::array<void *, 8> places_ = {};
	std::uint64_t freed_ = 0;
};

inline const auto user = flavour_under_schedule::user;
inline const auto callbacks = flavour_under_schedule::call_callbacks;
