/* SPDX-License-Identifier: MIT */
/*
 * Each of liburcu's flavours under test: threads that they know, readers that follow
 * orders, and a flavour that counts.
 */
#pragma once

#include "test.h"

#include "flavours.h"

struct flavour {
	const char *name;
	const struct rcu_flavor_struct *rcu;
};

inline const flavour flavours[] = {
	{"memb", &urcu_memb_flavor},
	{"mb", &urcu_mb_flavor},
	{"qsbr", &urcu_qsbr_flavor},
	{"bp", &urcu_bp_flavor},
};

/* Known to the flavour as long as it lives; in qsbr offline, unless it reads. */
class registered
{
public:
	explicit registered(const struct rcu_flavor_struct *flavor) : rcu(flavor)
	{
		rcu->register_thread();
		rcu->thread_offline();
	}
	~registered()
	{
		rcu->thread_online();
		rcu->unregister_thread();
	}
	registered(const registered &) = delete;
	registered &operator=(const registered &) = delete;

private:
	const struct rcu_flavor_struct *rcu;
};

/* A read-side critical section, as long as it lives. */
class section
{
public:
	explicit section(const struct rcu_flavor_struct *flavor) : rcu(flavor)
	{
		rcu->thread_online();
		rcu->read_lock();
	}
	~section()
	{
		rcu->read_unlock();
		rcu->thread_offline();
	}
	section(const section &) = delete;
	section &operator=(const section &) = delete;

private:
	const struct rcu_flavor_struct *rcu;
};

/* A thread that is in a section from its construction until leave(). */
class reader
{
public:
	explicit reader(const struct rcu_flavor_struct *flavor)
		: thread([this, flavor] {
			  registered here(flavor);
			  section reading(flavor);
			  std::unique_lock<std::mutex> lock(mutex);

			  inside = true;
			  changed.notify_all();
			  changed.wait(lock, [this] { return !inside; });
		  })
	{
		std::unique_lock<std::mutex> lock(mutex);

		changed.wait(lock, [this] { return inside; });
	}
	~reader()
	{
		if (thread.joinable())
			leave();
	}
	void leave()
	{
		{
			std::lock_guard<std::mutex> lock(mutex);

			inside = false;
		}
		changed.notify_all();
		thread.join();
	}

private:
	std::mutex mutex;
	std::condition_variable changed;
	bool inside = false;
	std::thread thread;
};

/* How often a thread is registered with counting_flavour(). */
inline thread_local int times_registered;

/* memb, with a count of how often the calling thread is registered. */
inline const struct rcu_flavor_struct *counting_flavour()
{
	static const struct rcu_flavor_struct flavour = [] {
		struct rcu_flavor_struct copy = urcu_memb_flavor;

		copy.register_thread = [] {
			times_registered++;
			urcu_memb_flavor.register_thread();
		};
		copy.unregister_thread = [] {
			times_registered--;
			urcu_memb_flavor.unregister_thread();
		};
		return copy;
	}();

	return &flavour;
}
