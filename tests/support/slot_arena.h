/* SPDX-License-Identifier: MIT */
/*
 * An ownership oracle for the per-CPU layer alone.
 *
 * A miniature of the layer above moves a few slabs between CPUs, a common pool
 * and the hands of threads, by sections only. Each object has a flag that says
 * whether a thread holds it: an object that is handed out twice, or given back
 * twice, is seen at once; in the end each must be found in exactly one place.
 */
#ifndef TESTS_SUPPORT_SLOT_ARENA_H
#define TESTS_SUPPORT_SLOT_ARENA_H

#include <atomic>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
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

class slot_arena
{
public:
	slot_arena() : engine_(cpu_engine), slots_(cpu_slots_create())
	{
		for (std::size_t i = 0; i < slabs_per_cpu * allowed_cpus().size(); i++) {
			slabs_.push_back(std::make_unique<shared_slab>());
			slabs_.back()->slab.put_all();
			idle_.push_back(slabs_.back().get());
		}
	}

	~slot_arena()
	{
		cpu_slots_destroy(slots_);
	}

	/* One object, or NULL when nothing was to be had at once. */
	void *alloc()
	{
		void *obj = engine_->pop(slots_);

		if (!obj)
			obj = engine_->pop_last_freed(slots_);
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
			const int cpu = engine_->cpu();
			enum cpu_result result = engine_->push(slots_, cpu, slab, offset8);

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
				slots_, engine_->cpu(), s->slab.get(),
				static_cast<unsigned>(offsets.size()), offsets.data());

			if (result == CPU_DONE)
				return;
			if (result == CPU_MISS)
				break;
		}
		put_remote(s, static_cast<unsigned>(offsets.size()), offsets.data());
	}

	bool same_slab(const void *a, const void *b)
	{
		return slab_of_object(a) == slab_of_object(b);
	}

	/* Everything on our CPU's list goes to the pool. */
	void drain()
	{
		const int cpu = engine_->cpu();
		std::uint64_t word;

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
		std::vector<struct cpu_slab *> isolated;

		each_slot([](struct cpu_slot *slot, int) {
			__atomic_store_n(&slot->closed, 1, __ATOMIC_SEQ_CST);
		});
		engine_->fence(slots_);
		each_slot([&](struct cpu_slot *slot, int cpu) { take_slot(slot, cpu, isolated); });
		engine_->fence(slots_);
		each_slot([&](struct cpu_slot *slot, int) {
			void *obj = reinterpret_cast<void *>(
				__atomic_exchange_n(&slot->last_freed, 0, __ATOMIC_ACQ_REL));

			if (obj)
				put_remote_object(obj);
			__atomic_store_n(&slot->closed, 0, __ATOMIC_RELEASE);
		});
		for (struct cpu_slab *slab : isolated)
			make_idle(slab);
	}

	bool healthy() const
	{
		return doubled_ == 0 && strange_ == 0;
	}

	/* When all threads are done and have freed what they held. */
	void expect_whole()
	{
		std::vector<unsigned> seen(slabs_.size() * objects_per_slab);

		const auto see = [&](const void *obj) {
			for (std::size_t i = 0; i < slabs_.size(); i++)
				if (slabs_[i]->slab.holds(obj))
					seen[i * objects_per_slab + slabs_[i]->slab.index(obj)]++;
		};
		each_slot([&](struct cpu_slot *slot, int) {
			see(reinterpret_cast<void *>(slot->last_freed));
			for (unsigned i = 0; i < cpu_word_count(slot->remote_batch); i++)
				see(cpu_slab_object(cpu_word_slab(slot->remote_batch),
						    slot->remote_batch_buf[i]));
		});
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
	template <typename Fn> void each_slot(Fn fn)
	{
		for (int cpu : allowed_cpus())
			fn(cpu_slot(slots_, cpu), cpu);
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

	void make_idle(struct cpu_slab *slab)
	{
		struct shared_slab *s = shared(slab);
		std::lock_guard<std::mutex> guard(idle_lock_);

		idle_.push_back(s);
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

	/* Isolated: what others freed becomes free. */
	void collect(struct shared_slab *s)
	{
		std::lock_guard<std::mutex> guard(s->lock);

		cpu_slab_put(s->slab.get(), static_cast<unsigned>(s->remote.size()),
			     s->remote.data());
		s->remote.clear();
	}

	void refill()
	{
		const int cpu = engine_->cpu();
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
		struct shared_slab *s = nullptr;

		{
			std::lock_guard<std::mutex> guard(idle_lock_);

			if (idle_.empty())
				return;
			s = idle_.front();
			idle_.pop_front();
		}
		collect(s);
		cpu_slab_set_owner(s->slab.get(), static_cast<std::uint32_t>(cpu));
		install(cpu, s->slab.get());
	}

	void take_list(int cpu, std::uint64_t word, std::vector<struct cpu_slab *> &isolated)
	{
		while (word) {
			struct cpu_slab *slab = cpu_word_slab(word);

			word = slab->next;
			engine_->revoke(slots_, cpu, slab);
			isolated.push_back(slab);
		}
	}

	void take_slot(struct cpu_slot *slot, int cpu, std::vector<struct cpu_slab *> &isolated)
	{
		struct cpu_slab *current = slot->current;
		const std::uint64_t batched = slot->remote_batch;

		__atomic_store_n(&slot->current, nullptr, __ATOMIC_SEQ_CST);
		if (current) {
			engine_->revoke(slots_, cpu, current);
			isolated.push_back(current);
		}
		take_list(cpu, __atomic_exchange_n(&slot->partial, 0, __ATOMIC_ACQUIRE), isolated);
		take_list(cpu, __atomic_exchange_n(&slot->handed_off, 0, __ATOMIC_ACQUIRE),
			  isolated);
		if (batched)
			put_remote(shared(cpu_word_slab(batched)), cpu_word_count(batched),
				   slot->remote_batch_buf);
		__atomic_store_n(&slot->remote_batch, 0, __ATOMIC_RELAXED);
	}

	const struct cpu_engine *engine_;
	char *slots_;
	std::vector<std::unique_ptr<shared_slab>> slabs_;
	std::mutex idle_lock_;
	std::deque<struct shared_slab *> idle_;
	std::atomic<unsigned> doubled_{0}, strange_{0};
};

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_SLOT_ARENA_H */
