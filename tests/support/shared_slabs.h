/* SPDX-License-Identifier: MIT */
/*
 * Slabs of the per-CPU layer that threads share, and a pool of idle ones. Each object has a
 * flag that is set while a thread holds it: an object that is handed out twice, or given
 * back twice, is seen at once; in the end each must be found in exactly one place.
 */
#ifndef TESTS_SUPPORT_SHARED_SLABS_H
#define TESTS_SUPPORT_SHARED_SLABS_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "plain_slab.h"
#include "process.h"

extern "C" {
#include "cpu_slab.h"
}

namespace slab_test
{

constexpr unsigned slabs_per_cpu = 4;
constexpr unsigned objects_per_slab = 40;
/* A slab, what others freed into it, and the holders of its objects. */
struct shared_slab {
	shared_slab() : slab(objects_per_slab), held(objects_per_slab) {}

	plain_slab slab;
	std::vector<std::atomic<bool>> held;
	std::mutex lock;
	std::vector<std::uint16_t> remote;
};

class shared_slabs
{
public:
	shared_slabs()
	{
		for (std::size_t i = 0; i < slabs_per_cpu * allowed_cpus().size(); i++) {
			slabs_.push_back(std::make_unique<shared_slab>());
			slabs_.back()->slab.put_all();
			idle_.push_back(slabs_.back().get());
		}
	}

	bool healthy() const
	{
		return doubled_ == 0 && strange_ == 0;
	}

	bool same_slab(const void *a, const void *b)
	{
		return slab_of_object(a) == slab_of_object(b);
	}

	struct shared_slab *slab_of_object(const void *obj)
	{
		for (const auto &s : slabs_)
			if (s->slab.holds(obj))
				return s.get();
		strange_++;
		std::abort(); /* nothing that follows would make sense */
	}

	struct shared_slab *shared(const struct cpu_slab *slab)
	{
		return slab_of_object(slab->base);
	}

	void claim(void *obj)
	{
		struct shared_slab *s = slab_of_object(obj);

		if (s->held[s->slab.index(obj)].exchange(true))
			doubled_++;
	}

	struct shared_slab *release(void *obj)
	{
		struct shared_slab *s = slab_of_object(obj);

		if (!s->held[s->slab.index(obj)].exchange(false))
			doubled_++;
		return s;
	}

	void put_remote(struct shared_slab *s, unsigned n, const std::uint16_t *offset8)
	{
		std::lock_guard<std::mutex> guard(s->lock);

		s->remote.insert(s->remote.end(), offset8, offset8 + n);
	}

	void put_remote_object(void *obj)
	{
		struct shared_slab *s = slab_of_object(obj);
		const std::uint16_t offset8 = cpu_slab_offset8(s->slab.get(), obj);

		put_remote(s, 1, &offset8);
	}

	void make_idle(struct cpu_slab *slab)
	{
		struct shared_slab *s = shared(slab);
		std::lock_guard<std::mutex> guard(idle_lock_);

		idle_.push_back(s);
	}

	/* NULL when there is none. */
	struct shared_slab *take_idle()
	{
		std::lock_guard<std::mutex> guard(idle_lock_);
		struct shared_slab *s;

		if (idle_.empty())
			return nullptr;
		s = idle_.front();
		idle_.pop_front();
		return s;
	}

	/* Isolated: what others freed becomes free. */
	void collect(struct shared_slab *s)
	{
		std::lock_guard<std::mutex> guard(s->lock);

		cpu_slab_put(s->slab.get(), static_cast<unsigned>(s->remote.size()),
			     s->remote.data());
		s->remote.clear();
	}

	/* Each object is free in one place: in its slab, freed from elsewhere, or in these. */
	void expect_each_once(const std::vector<const void *> &in_slots)
	{
		std::vector<unsigned> seen(slabs_.size() * objects_per_slab);

		const auto see = [&](const void *obj) {
			for (std::size_t i = 0; i < slabs_.size(); i++)
				if (slabs_[i]->slab.holds(obj))
					seen[i * objects_per_slab + slabs_[i]->slab.index(obj)]++;
		};
		for (const void *obj : in_slots)
			see(obj);
		for (const auto &s : slabs_) {
			for (unsigned i : s->slab.free_objects())
				see(s->slab.object(i));
			for (std::uint16_t offset8 : s->remote)
				see(cpu_slab_object(s->slab.get(), offset8));
		}
		EXPECT_EQ(doubled_, 0u) << "objects handed out or freed twice";
		EXPECT_EQ(strange_, 0u) << "pointers to no object";
		for (std::size_t i = 0; i < seen.size(); i++)
			EXPECT_EQ(seen[i], 1u) << "object " << i;
	}

private:
	std::vector<std::unique_ptr<shared_slab>> slabs_;
	std::mutex idle_lock_;
	std::deque<struct shared_slab *> idle_;
	std::atomic<unsigned> doubled_{0}, strange_{0};
};

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_SHARED_SLABS_H */
