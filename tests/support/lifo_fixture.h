/* SPDX-License-Identifier: MIT */
/* A cache with LIFOs of three objects and without magazines. */
#ifndef TESTS_SUPPORT_LIFO_FIXTURE_H
#define TESTS_SUPPORT_LIFO_FIXTURE_H

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "slab_state.h"

namespace slab_test
{

class LifoTest : public SlabStateTest
{
protected:
	explicit LifoTest(std::size_t size = 8192) : SlabStateTest(size)
	{
		set_lifo_max(max);
		without_magazines();
	}

	/* The free objects of a slab, the next to be allocated first. */
	static std::vector<void *> free_objects(struct slab *slab)
	{
		struct walk {
			struct slab *slab;
			std::vector<void *> objs;
		} walk = {slab, {}};

		cpu_slab_each(
			&slab->cpu,
			[](void *arg, std::uint16_t offset8) {
				auto *w = static_cast<struct walk *>(arg);

				w->objs.push_back(cpu_slab_object(&w->slab->cpu, offset8));
			},
			&walk);
		return walk.objs;
	}

	std::uint64_t held_by_lifo(int cpu) const
	{
		return lifo(cpu)->count;
	}

	std::uint64_t held_by_lifo() const
	{
		return held_by_lifo(cpu_);
	}

	/* Free objects of a full slab until n of them are in the LIFO. magazine_test has what a
	 * full LIFO does where the node has room for magazines. */
	void fill_lifo(const std::vector<void *> &objs, unsigned n)
	{
		without_magazines();
		free_first(objs, n);
	}

	void free_first(const std::vector<void *> &objs, unsigned n)
	{
		for (unsigned i = 0; i < n; i++)
			free(objs[i]);
		check();
	}

	/* A current slab whose free objects are all on its stack; the LIFO is empty. */
	struct slab *current_slab_alone()
	{
		const std::vector<void *> objs = alloc_slab();

		free_all({objs.begin() + 1, objs.end()});
		slab_cache_shrink(cache_);
		return slab_of(alloc());
	}

	/* The test freed these without free(). */
	void forget(std::initializer_list<void *> objs)
	{
		for (void *obj : objs)
			held_.erase(std::find(held_.begin(), held_.end(), obj));
	}

	static constexpr std::uint64_t max = 3;
};

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_LIFO_FIXTURE_H */
