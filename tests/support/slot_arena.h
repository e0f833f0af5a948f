/* SPDX-License-Identifier: MIT */
/*
 * An ownership oracle for the per-CPU layer alone: a miniature of the layer above moves a few
 * slabs between CPUs, a common pool and threads, by sections only. shared_slabs.h has the flags.
 */
#ifndef TESTS_SUPPORT_SLOT_ARENA_H
#define TESTS_SUPPORT_SLOT_ARENA_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "revocation.h"
#include "shared_slabs.h"

extern "C" {
#include "cpu_cache.h"
}

namespace slab_test
{

constexpr std::uint64_t lifo_max = 5; /* so that it is full often, and empty */

class slot_arena : public shared_slabs
{
public:
	slot_arena() : engine_(cpu_engine), slots_(cpu_slots_create()) {}

	~slot_arena()
	{
		cpu_slots_destroy(slots_);
	}

	/* One object, or NULL when nothing was to be had at once. */
	void *alloc()
	{
		void *obj = engine_->lifo_pop(slots_);

		if (!obj)
			obj = engine_->lifos ? refill_lifo() : engine_->pop(slots_);
		if (!obj) {
			refill();
			obj = engine_->pop(slots_);
		}
		if (obj)
			claim(obj);
		return obj;
	}

	std::size_t alloc_bulk(std::size_t n, void **objs)
	{
		const std::size_t got = engine_->pop_bulk(slots_, n, objs);

		for (std::size_t i = 0; i < got; i++)
			claim(objs[i]);
		return got;
	}

	void free(void *obj)
	{
		struct shared_slab *s = release(obj);
		struct cpu_slab *slab = s->slab.get();
		const std::uint16_t offset8 = cpu_slab_offset8(slab, obj);

		for (;;) {
			const int cpu = cpu_here();
			enum cpu_result result =
				engine_->lifos ? engine_->lifo_push(slots_, cpu, obj, lifo_max)
					       : CPU_MISS;

			if (result == CPU_MISS)
				result = engine_->push(slots_, cpu, slab, offset8);
			if (result == CPU_MISS)
				result = batch_add(cpu, slab, offset8);
			/* The arena frees nothing twice. */
			EXPECT_NE(result, CPU_DOUBLE);
			if (result == CPU_DONE || result == CPU_DOUBLE)
				return;
		}
	}

	/* All are of one slab. */
	void free_bulk(const std::vector<void *> &objs)
	{
		struct shared_slab *s = nullptr;
		std::vector<std::uint16_t> offsets;

		for (void *obj : objs) {
			s = release(obj);
			offsets.push_back(cpu_slab_offset8(s->slab.get(), obj));
		}
		for (;;) {
			const enum cpu_result result = engine_->push_bulk(
				slots_, cpu_here(), s->slab.get(),
				static_cast<unsigned>(offsets.size()), offsets.data());

			if (result == CPU_DONE)
				return;
			if (result == CPU_MISS)
				break;
		}
		put_remote(s, static_cast<unsigned>(offsets.size()), offsets.data());
	}

	/* Some objects of the LIFO, and everything on our CPU's list, go to the pool. */
	void drain()
	{
		const int cpu = cpu_here();
		std::uint64_t word;
		void *objs[2];

		if (engine_->lifo_take(slots_, cpu, 2, objs) == CPU_DONE)
			for (void *obj : objs)
				put_remote_object(obj);
		if (engine_->partial_take(slots_, cpu, &word) != CPU_DONE)
			return;
		while (word) {
			struct cpu_slab *slab = cpu_word_slab(word);

			word = slab->next;
			if (engine_->disown(slots_, cpu, slab, false) == CPU_DONE)
				make_idle(slab);
			else
				list(cpu, slab);
		}
	}

	/* Take all slots back as the layer above does; only one thread may. */
	void revoke_all()
	{
		revocation(engine_, slots_, *this).run();
	}

	/* When all threads are done and have freed what they held. */
	void expect_whole()
	{
		std::vector<const void *> in_slots;

		each_slot(slots_, [&](struct cpu_slot *slot, int cpu) {
			const struct cpu_lifo *lifo = cpu_lifo(cpu_slots_lifos(slots_), cpu);

			in_slots.insert(in_slots.end(), lifo->obj, lifo->obj + lifo->count);
			for (unsigned i = 0; i < cpu_word_count(slot->remote_batch); i++)
				in_slots.push_back(
					cpu_slab_object(cpu_word_slab(slot->remote_batch),
							slot->remote_batch_buf[i]));
		});
		expect_each_once(in_slots);
	}

private:
	/* After many aborted sections the engine claims for a while that there is none. */
	int cpu_here() const
	{
		int cpu;

		while ((cpu = engine_->cpu()) < 0)
			;
		return cpu;
	}

	/* One object of the current slab, while some more of it go to the LIFO, which was empty. */
	void *refill_lifo()
	{
		void *objs[3];
		const int cpu = cpu_here();
		const std::size_t n = engine_->pop_bulk(slots_, 3, objs);

		if (!n)
			return nullptr;
		if (n > 1 &&
		    engine_->lifo_push_bulk(slots_, cpu, n - 1, objs, lifo_max) != CPU_DONE)
			for (std::size_t i = 0; i < n - 1; i++)
				put_remote_object(objs[i]);
		return objs[n - 1];
	}

	enum cpu_result batch_add(int cpu, struct cpu_slab *slab, std::uint16_t offset8)
	{
		const enum cpu_result result = engine_->batch_add(slots_, cpu, slab, offset8);

		if (result != CPU_MISS)
			return result;
		take_remote_batch(cpu);
		/* A closed slot batches nothing. */
		if (!__atomic_load_n(&cpu_slot(slots_, cpu)->closed, __ATOMIC_RELAXED))
			return CPU_MOVED;
		put_remote(shared(slab), 1, &offset8);
		return CPU_DONE;
	}

	void take_remote_batch(int cpu)
	{
		struct cpu_batch batch;

		if (engine_->batch_take(slots_, cpu, &batch) == CPU_DONE)
			put_remote(shared(batch.slab), batch.count, batch.offset8);
	}

	/* A slab that `cpu` owns: on its list, or where only revocation finds it. */
	void list(int cpu, struct cpu_slab *slab)
	{
		struct cpu_slot *slot = cpu_slot(slots_, cpu);
		std::uint64_t head = __atomic_load_n(&slot->handed_off, __ATOMIC_RELAXED);

		for (int i = 0; i < 4; i++)
			if (engine_->partial_push(slots_, cpu, slab, slab, 1) == CPU_DONE)
				return;
		do
			slab->next = head;
		while (!__atomic_compare_exchange_n(&slot->handed_off, &head,
						    reinterpret_cast<std::uintptr_t>(slab), false,
						    __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	}

	void install(int cpu, struct cpu_slab *slab)
	{
		if (engine_->install(slots_, cpu, slab) != CPU_DONE)
			list(cpu, slab);
	}

	void take_handed_off(int cpu)
	{
		std::uint64_t word = __atomic_exchange_n(&cpu_slot(slots_, cpu)->handed_off, 0,
							 __ATOMIC_ACQUIRE);

		while (word) {
			struct cpu_slab *slab = cpu_word_slab(word);

			word = slab->next;
			list(cpu, slab);
		}
	}

	void refill()
	{
		const int cpu = cpu_here();
		struct cpu_slab *slab =
			__atomic_load_n(&cpu_slot(slots_, cpu)->current, __ATOMIC_ACQUIRE);

		if (slab) {
			if (engine_->retire(slots_, cpu, slab) != CPU_DONE)
				return;
			if (engine_->disown(slots_, cpu, slab, true) == CPU_DONE)
				make_idle(slab);
			else
				list(cpu, slab);
		}
		take_handed_off(cpu);
		if (engine_->partial_pop(slots_, cpu, &slab) == CPU_DONE) {
			install(cpu, slab);
			return;
		}
		take_remote_batch(cpu);
		from_pool(cpu);
	}

	void from_pool(int cpu)
	{
		struct shared_slab *s = take_idle();

		if (!s)
			return;
		collect(s);
		cpu_slab_set_owner(s->slab.get(), static_cast<std::uint32_t>(cpu));
		install(cpu, s->slab.get());
	}

	const struct cpu_engine *engine_;
	char *slots_;
};

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_SLOT_ARENA_H */
