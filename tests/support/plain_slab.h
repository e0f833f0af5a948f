/* SPDX-License-Identifier: MIT */
/*
 * A slab of the per-CPU layer alone: descriptor, stack and objects in memory of
 * the test's own, without a cache or a page layer around it.
 */
#ifndef TESTS_SUPPORT_PLAIN_SLAB_H
#define TESTS_SUPPORT_PLAIN_SLAB_H

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

extern "C" {
#include "cpu_slab.h"
#include "pages/segment.h"
}

namespace slab_test
{

/* How many objects of `size` bytes the largest slab has. */
inline unsigned objects_of_largest_slab(std::size_t size)
{
	return static_cast<unsigned>((std::size_t{1} << SLAB_SHIFT_MAX) / size);
}

class plain_slab
{
public:
	/* The objects are addresses only: nothing reads or writes them. */
	explicit plain_slab(unsigned objects, std::size_t size = 64, const void *user = nullptr)
		: objects_(objects), size_(size)
	{
		/* Bound tightly, so that a sanitizer sees a stack that overflows. */
		const std::size_t bytes = CPU_SLAB_STACK + objects * sizeof(std::uint16_t);

		memory_.reset(static_cast<char *>(
			std::aligned_alloc(CPU_CACHELINE, (bytes + CPU_CACHELINE - 1) /
								  CPU_CACHELINE * CPU_CACHELINE)));
		std::memset(memory_.get(), 0, bytes);
		base_.reset(static_cast<char *>(std::malloc(objects * size)));
		cpu_slab_init(get(), base_.get(), size, objects, user);
	}

	struct cpu_slab *get() const
	{
		return reinterpret_cast<struct cpu_slab *>(memory_.get());
	}

	unsigned objects() const
	{
		return objects_;
	}

	std::uint16_t offset8(unsigned index) const
	{
		return static_cast<std::uint16_t>(index * size_ / 8);
	}

	void *object(unsigned index) const
	{
		return base_.get() + index * size_;
	}

	bool holds(const void *obj) const
	{
		return obj >= base_.get() && obj < base_.get() + objects_ * size_;
	}

	unsigned index(const void *obj) const
	{
		return static_cast<unsigned>((static_cast<const char *>(obj) - base_.get()) /
					     static_cast<std::ptrdiff_t>(size_));
	}

	/* While isolated: put these objects in, the last of them on top. */
	void put(const std::vector<unsigned> &indices)
	{
		std::vector<std::uint16_t> offsets;

		for (unsigned i : indices)
			offsets.push_back(offset8(i));
		cpu_slab_put(get(), static_cast<unsigned>(offsets.size()), offsets.data());
	}

	void put_all()
	{
		std::vector<unsigned> all(objects_);

		std::iota(all.begin(), all.end(), 0u);
		put(all);
	}

	/* The free objects' indices, the next to be taken first. */
	std::vector<unsigned> free_objects() const
	{
		std::vector<unsigned> found;
		struct walk {
			const plain_slab *slab;
			std::vector<unsigned> *found;
		} walk = {this, &found};

		cpu_slab_each(
			get(),
			[](void *arg, std::uint16_t offset8) {
				auto *w = static_cast<struct walk *>(arg);

				w->found->push_back(cpu_slab_index(w->slab->get(), offset8));
			},
			&walk);
		return found;
	}

private:
	struct release {
		void operator()(char *memory) const
		{
			std::free(memory);
		}
	};

	unsigned objects_;
	std::size_t size_;
	std::unique_ptr<char, release> memory_;
	std::unique_ptr<char, release> base_;
};

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_PLAIN_SLAB_H */
