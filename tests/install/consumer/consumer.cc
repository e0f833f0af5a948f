/* SPDX-License-Identifier: MIT */
/* A C++ program that uses an installed libslab. */
#include <cstdio>
#include <list>

#include <slab/slab.hpp>

namespace
{
struct entry {
	explicit entry(long number) : id(number) {}
	long id;
};
} // namespace

int main()
{
	slab::cache<entry> entries("entry");
	auto first = entries.make_unique(42);
	std::list<long, slab::allocator<long>> ids;

	ids.push_back(first->id);
	std::printf("consumer: C++, libslab %s, engine %s\n", slab_version(), slab_engine());
	return ids.front() == 42 ? 0 : 1;
}
