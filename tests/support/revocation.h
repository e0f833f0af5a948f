/* SPDX-License-Identifier: MIT */
/* Taking the slabs of all slots back, as the layer above the per-CPU layer does. */
#ifndef TESTS_SUPPORT_REVOCATION_H
#define TESTS_SUPPORT_REVOCATION_H

#include <cstdint>
#include <vector>

#include "process.h"
#include "shared_slabs.h"

extern "C" {
#include "cpu_cache.h"
#include "cpu_slab.h"
#include "slots.h"
}

namespace slab_test
{

template <typename Fn> void each_slot(char *slots, Fn fn)
{
	for (int cpu : allowed_cpus())
		fn(cpu_slot(slots, cpu), cpu);
}

class revocation
{
public:
	revocation(const struct cpu_engine *engine, char *slots, shared_slabs &pool)
		: engine_(engine), slots_(slots), pool_(pool)
	{
	}

	void run()
	{
		std::vector<struct cpu_slab *> isolated;

		each_slot(slots_, [](struct cpu_slot *slot, int) {
			__atomic_store_n(&slot->closed, 1, __ATOMIC_SEQ_CST);
		});
		if (!engine_->fence(slots_)) {
			each_slot(slots_, [](struct cpu_slot *slot, int) {
				__atomic_store_n(&slot->closed, 0, __ATOMIC_RELEASE);
			});
			return;
		}
		each_slot(slots_,
			  [&](struct cpu_slot *slot, int cpu) { take_slot(slot, cpu, isolated); });
		ASSERT_TRUE(engine_->fence(slots_));
		each_slot(slots_, [&](struct cpu_slot *slot, int cpu) {
			struct cpu_lifo *lifo = cpu_lifo(cpu_slots_lifos(slots_), cpu);

			for (std::uint64_t i = 0; i < lifo->count; i++)
				pool_.put_remote_object(lifo->obj[i]);
			__atomic_store_n(&lifo->count, 0, __ATOMIC_RELAXED);
			__atomic_store_n(&slot->closed, 0, __ATOMIC_RELEASE);
		});
		for (struct cpu_slab *slab : isolated)
			pool_.make_idle(slab);
	}

private:
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
		__atomic_store_n(&cpu_lifo(cpu_slots_lifos(slots_), cpu)->limit, 0,
				 __ATOMIC_SEQ_CST);
		if (current) {
			engine_->revoke(slots_, cpu, current);
			isolated.push_back(current);
		}
		take_list(cpu, __atomic_exchange_n(&slot->partial, 0, __ATOMIC_ACQUIRE), isolated);
		take_list(cpu, __atomic_exchange_n(&slot->handed_off, 0, __ATOMIC_ACQUIRE),
			  isolated);
		if (batched)
			pool_.put_remote(pool_.shared(cpu_word_slab(batched)),
					 cpu_word_count(batched), slot->remote_batch_buf);
		__atomic_store_n(&slot->remote_batch, 0, __ATOMIC_RELAXED);
	}

	const struct cpu_engine *engine_;
	char *slots_;
	shared_slabs &pool_;
};

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_REVOCATION_H */
