/* SPDX-License-Identifier: MIT */
/*
 * A test on one engine, one CPU's slot and a few slabs: sections are run until
 * they did what they were meant to do, and what they changed can be compared.
 */
#ifndef TESTS_SUPPORT_ENGINE_FIXTURE_H
#define TESTS_SUPPORT_ENGINE_FIXTURE_H

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plain_slab.h"
#include "process.h"

extern "C" {
#include "cpu_cache.h"
#include "cpu_slab.h"
#include "slots.h"
}

namespace slab_test
{

using indices = std::vector<unsigned>;

constexpr int tries = 1000;

/* Everything that sections may change, of one slot and some slabs. */
struct state {
	std::vector<std::uint64_t> slot;
	std::vector<void *> lifo; /* its limit is no condition of a section that sets it */
	std::vector<std::uint16_t> batched;
	std::vector<std::uint32_t> owners;
	std::vector<indices> free_objects;

	bool operator==(const state &other) const
	{
		return slot == other.slot && lifo == other.lifo && batched == other.batched &&
		       owners == other.owners && free_objects == other.free_objects;
	}
};

/* What an injected thread changes in the middle of a section. */
struct stale_current {
	char *slots;
	struct cpu_slot *slot;
	plain_slab *slab;
	int cpu;
	bool done;
};
inline stale_current stale;

class EngineTest : public testing::TestWithParam<const char *>
{
protected:
	void SetUp() override
	{
		if (!cpu_engine_init(GetParam()))
			GTEST_SKIP() << GetParam() << " is not available here";
		engine_ = cpu_engine;
		pin(0);
		cpu_ = engine_->cpu();
		ASSERT_EQ(cpu_, allowed_cpus()[0]);
		slots_ = cpu_slots_create();
		ASSERT_NE(slots_, nullptr);
		slot_ = cpu_slot(slots_, cpu_);
		lifo_ = cpu_lifo(cpu_slots_lifos(slots_), cpu_);
	}

	void TearDown() override
	{
		if (slots_)
			cpu_slots_destroy(slots_);
		unpin();
	}

	bool is(const char *name) const
	{
		return std::strcmp(GetParam(), name) == 0;
	}

	/* An isolated slab with all of its objects free. */
	plain_slab &make(unsigned objects = 8)
	{
		slabs_.push_back(std::make_unique<plain_slab>(objects));
		return *slabs_.back();
	}

	/* The same with these objects free, owned by our CPU. */
	plain_slab &make_owned(const indices &free, unsigned objects = 8)
	{
		plain_slab &slab = make(objects);

		slab.put(free);
		cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu_));
		return slab;
	}

	plain_slab &make_current(const indices &free, unsigned objects = 8)
	{
		plain_slab &slab = make_owned(free, objects);

		commits([&] { return engine_->install(slots_, cpu_, slab.get()); });
		return slab;
	}

	void close()
	{
		slot_->closed = 1;
	}

	struct state look() const
	{
		struct state now;
		const unsigned batched = cpu_word_count(slot_->remote_batch);

		now.slot = {reinterpret_cast<std::uint64_t>(slot_->current), slot_->partial,
			    slot_->remote_batch, slot_->handed_off, slot_->closed};
		now.lifo.assign(lifo_->obj, lifo_->obj + lifo_->count);
		now.batched.assign(slot_->remote_batch_buf, slot_->remote_batch_buf + batched);
		for (const auto &slab : slabs_) {
			now.owners.push_back(cpu_slab_owner(slab->get()));
			now.free_objects.push_back(slab->free_objects());
		}
		return now;
	}

	void commits(const std::function<enum cpu_result()> &section)
	{
		enum cpu_result result = CPU_MOVED;

		for (int i = 0; i < tries && result != CPU_DONE; i++)
			result = section();
		EXPECT_EQ(result, CPU_DONE);
	}

	void ends_as(enum cpu_result wanted, const std::function<enum cpu_result()> &section)
	{
		const struct state before = look();
		enum cpu_result result = CPU_MOVED;

		for (int i = 0; i < tries && result == CPU_MOVED; i++)
			result = section();
		EXPECT_EQ(result, wanted);
		EXPECT_TRUE(look() == before) << "a section that missed has changed something";
	}

	void misses(const std::function<enum cpu_result()> &section)
	{
		ends_as(CPU_MISS, section);
	}

	void sees_double(const std::function<enum cpu_result()> &section)
	{
		ends_as(CPU_DOUBLE, section);
	}

	void *pop()
	{
		void *obj = nullptr;

		for (int i = 0; i < tries && !obj; i++)
			obj = engine_->pop(slots_);
		EXPECT_NE(obj, nullptr);
		return obj;
	}

	void pop_misses()
	{
		const struct state before = look();

		for (int i = 0; i < 10; i++)
			EXPECT_EQ(engine_->pop(slots_), nullptr);
		EXPECT_TRUE(look() == before);
	}

	std::vector<void *> pop_bulk(std::size_t n)
	{
		std::vector<void *> objs(n);
		std::size_t got = 0;

		for (int i = 0; i < tries && !got; i++)
			got = engine_->pop_bulk(slots_, n, objs.data());
		objs.resize(got);
		return objs;
	}

	enum cpu_result push(plain_slab &slab, unsigned index)
	{
		return engine_->push(slots_, cpu_, slab.get(), slab.offset8(index));
	}

	enum cpu_result push_bulk(plain_slab &slab, const indices &which)
	{
		std::vector<std::uint16_t> offsets;

		for (unsigned i : which)
			offsets.push_back(slab.offset8(i));
		return engine_->push_bulk(slots_, cpu_, slab.get(),
					  static_cast<unsigned>(offsets.size()), offsets.data());
	}

	enum cpu_result list(plain_slab &slab)
	{
		return engine_->partial_push(slots_, cpu_, slab.get(), slab.get(), 1);
	}

	/* The partial list as it stands, first slab first. */
	std::vector<struct cpu_slab *> partial() const
	{
		std::vector<struct cpu_slab *> list;

		for (std::uint64_t word = slot_->partial; word; word = list.back()->next) {
			list.push_back(cpu_word_slab(word));
			if (list.size() > 100)
				break;
		}
		EXPECT_EQ(cpu_word_count(slot_->partial), list.size());
		return list;
	}

	const struct cpu_engine *engine_ = nullptr;
	int cpu_ = -1;
	char *slots_ = nullptr;
	struct cpu_slot *slot_ = nullptr;
	struct cpu_lifo *lifo_ = nullptr;
	std::vector<std::unique_ptr<plain_slab>> slabs_;
};

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_ENGINE_FIXTURE_H */
