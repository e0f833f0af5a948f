/* SPDX-License-Identifier: MIT */
/* Where a slab is, of the states that it can have, and that it looks as in that state. */
#ifndef TESTS_SUPPORT_SLAB_PLACE_H
#define TESTS_SUPPORT_SLAB_PLACE_H

#include <cstdint>
#include <ostream>

#include <gtest/gtest.h>

extern "C" {
#include "core/cache.h"
#include "core/slab.h"
#include "cpu_cache.h"
#include "cpu_slab.h"
#include "slots.h"
}

namespace slab_test
{

enum class at { current, partial, handed_off, full, node, free, lost };

inline std::ostream &operator<<(std::ostream &out, at state)
{
	static const char *const names[] = {"current", "partial", "handed_off", "full",
					    "node",    "free",    "lost"};

	return out << names[static_cast<int>(state)];
}

inline unsigned local(struct slab *slab)
{
	return cpu_slab_free_count(&slab->cpu);
}

inline unsigned remote(struct slab *slab)
{
	return slab->remote >> 16 & 0xffff;
}

inline bool is_on(std::uint64_t word, const struct slab *slab)
{
	for (; word; word = cpu_word_slab(word)->next)
		if (cpu_word_slab(word) == &slab->cpu)
			return true;
	return false;
}

inline bool is_on_node(const struct slab_cache *cache, const struct slab *slab)
{
	for (struct slab *s = cache->node[slab->node].partial.slabs.first; s; s = s->next)
		if (s == slab)
			return true;
	return false;
}

inline enum at state_on_cpus(const struct slab_cache *cache, const struct slab *slab)
{
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		const struct cpu_slot *s = cpu_slot(cache->cpu_slots, static_cast<int>(cpu));
		const enum at found = s->current == &slab->cpu     ? at::current
				      : is_on(s->partial, slab)    ? at::partial
				      : is_on(s->handed_off, slab) ? at::handed_off
								   : at::lost;

		if (found == at::lost)
			continue;
		EXPECT_EQ(cpu_slab_owner(&slab->cpu), cpu);
		return found;
	}
	return at::lost;
}

/* Where a slab is; it must look as in that state. */
inline enum at state_of(const struct slab_cache *cache, const struct slab *slab)
{
	const enum at on_cpu = state_on_cpus(cache, slab);

	if (slab->cpu.user != cache)
		return at::free;
	if (on_cpu != at::lost) {
		EXPECT_EQ(slab->remote & REMOTE_OWNED, REMOTE_OWNED);
		EXPECT_EQ(slab->listed, 0);
		EXPECT_FALSE(is_on_node(cache, slab));
		return on_cpu;
	}
	EXPECT_EQ(cpu_slab_owner(&slab->cpu), CPU_NONE);
	EXPECT_EQ(is_on_node(cache, slab), slab->listed == 1);
	if (slab->listed) {
		EXPECT_EQ(slab->remote & REMOTE_OWNED, REMOTE_OWNED);
		return at::node;
	}
	EXPECT_EQ(slab->remote, 0u);
	EXPECT_EQ(cpu_slab_free_count(&slab->cpu), 0u);
	EXPECT_EQ(slab->initialized, slab->objects);
	return slab->remote == 0 ? at::full : at::lost;
}

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_SLAB_PLACE_H */
