/* SPDX-License-Identifier: MIT */
/*
 * Tests that follow the slabs of one cache through their states, step by step,
 * on pinned threads.
 */
#ifndef TESTS_SUPPORT_SLAB_STATE_H
#define TESTS_SUPPORT_SLAB_STATE_H

#include <algorithm>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lifo.h"
#include "objects.h"
#include "orders.h"
#include "process.h"
#include "slab_place.h"

extern "C" {
#include "core/node.h"
#include "percpu/refill.h"
#include "core/slab.h"
#include "cpu_cache.h"
#include "cpu_slab.h"
#include "pages/segment.h"
#include "pages/topology.h"
#include "slots.h"
}

namespace slab_test
{

class SlabStateTest : public testing::Test
{
protected:
	explicit SlabStateTest(std::size_t size = 8192) : owner_(size), cache_(owner_)
	{
		pin(0);
		cpu_ = allowed_cpus()[0];
		one_order(cache_);
		/* Allocations and frees use slabs at once; lifo_test has the rest. */
		set_lifo_max(0);
	}

	~SlabStateTest() override
	{
		for (void *obj : held_)
			slab_free(cache_, obj);
		held_.clear();
		EXPECT_EQ(slab_cache_validate(cache_), 0);
		check();
		unpin();
	}

	static bool has_lifo()
	{
		return std::strcmp(slab_engine(), "rseq") == 0;
	}

	void set_lifo_max(unsigned max)
	{
		set_lifo_length(cache_, max);
	}

	/* The node has as many full magazines as it can have. So LIFOs stay full. */
	void without_magazines()
	{
		for (unsigned n = 0; n < topology_nodes(); n++)
			cache_->node[n].magazines = MAGAZINES_MAX;
	}

	struct cpu_slot *slot(int cpu) const
	{
		return cpu_slot(cache_->cpu_slots, cpu);
	}

	struct cpu_lifo *lifo(int cpu) const
	{
		return cpu_lifo(cache_->cpu_lifos, cpu);
	}

	struct cpu_slot *slot() const
	{
		return slot(cpu_);
	}

	/* Do something on the second CPU. */
	void elsewhere(const std::function<void()> &act)
	{
		std::thread([&] {
			pin(1);
			act();
		}).join();
		check();
	}

	static bool one_cpu()
	{
		return allowed_cpus().size() < 2;
	}

	int other_cpu() const
	{
		return allowed_cpus()[1];
	}

	void *alloc()
	{
		void *obj = slab_alloc(cache_);

		EXPECT_NE(obj, nullptr);
		held_.push_back(obj);
		return obj;
	}

	std::vector<void *> alloc(std::size_t n)
	{
		std::vector<void *> objs;

		while (objs.size() < n)
			objs.push_back(alloc());
		check();
		return objs;
	}

	void free(void *obj)
	{
		held_.erase(std::find(held_.begin(), held_.end(), obj));
		slab_free(cache_, obj);
	}

	/* By value: it may be held_ itself. */
	void free_all(std::vector<void *> objs)
	{
		for (void *obj : objs)
			free(obj);
		check();
	}

	/* All objects of one fresh slab, as many as it has, and so of the next ones. */
	std::vector<void *> alloc_slab()
	{
		return alloc(cache_->large.objects);
	}

	/* Allocate a slab's objects, and one more, so that it is full. */
	std::vector<void *> alloc_full_slab()
	{
		std::vector<void *> objs = alloc_slab();

		alloc();
		check();
		return objs;
	}

	enum at state(const struct slab *slab) const
	{
		return state_of(cache_, slab);
	}

	enum at state(void *obj) const
	{
		return state(slab_of(obj));
	}

	bool is_on_node(const struct slab *slab) const
	{
		return slab_test::is_on_node(cache_, slab);
	}

	/* What must hold between any two steps. */
	void check()
	{
		const struct slab_stats stats = stats_of(cache_);
		struct counts {
			const SlabStateTest *test;
			std::uint64_t node, full, cpus;
		} counts = {this, 0, 0, 0};

		cache_each_slab(
			cache_,
			[](struct slab *slab, void *arg) {
				auto *c = static_cast<struct counts *>(arg);
				const enum at state = c->test->state(slab);

				EXPECT_NE(state, at::lost);
				c->node += state == at::node;
				c->full += state == at::full;
				c->cpus += state == at::current || state == at::partial ||
					   state == at::handed_off;
			},
			&counts);
		EXPECT_EQ(stats.objects, held_.size());
		EXPECT_EQ(stats.partial, counts.node);
		EXPECT_EQ(stats.full, counts.full);
		EXPECT_EQ(stats.cpu_slabs, counts.cpus);
		EXPECT_EQ(stats.slabs, counts.node + counts.full + counts.cpus);
		for (unsigned n = 0; n < topology_nodes(); n++)
			EXPECT_EQ(cache_->node[n].partial.count, stats.node_partial[n]);
	}

	std::uint64_t event(enum slab_event e)
	{
		return stats_of(cache_).event[e];
	}

	/* To a closed slot, slabs can only be handed off. */
	void hand_to_cpu(struct slab *slab)
	{
		slab_cache_shrink(cache_);
		ASSERT_EQ(node_take(cache_, slab->node, 1), slab);
		cpu_slab_set_owner(&slab->cpu, static_cast<std::uint32_t>(cpu_));
		slot()->closed = 1;
		slab_push_partial(cache_, cpu_, slab);
		slot()->closed = 0;
	}

	/* CPUs hold nothing of the cache. */
	void expect_slots_empty()
	{
		for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
			const struct cpu_slot *s = slot(static_cast<int>(cpu));

			EXPECT_EQ(s->current, nullptr);
			EXPECT_EQ(s->partial, 0u);
			EXPECT_EQ(s->handed_off, 0u);
			EXPECT_EQ(s->remote_batch, 0u);
			EXPECT_EQ(lifo(static_cast<int>(cpu))->count, 0u);
			EXPECT_EQ(s->closed, 0u);
		}
	}

	test_cache owner_;
	struct slab_cache *cache_;
	int cpu_ = 0;
	std::vector<void *> held_;
};

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_SLAB_STATE_H */
