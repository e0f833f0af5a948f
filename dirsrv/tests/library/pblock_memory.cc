/* SPDX-License-Identifier: MIT */
/*
 * The linker's --wrap leads every call of these functions that is in the program, not in
 * shared libraries, here. Only calls of the tests' own thread are in it.
 */
#include <cerrno>
#include <set>

#include <slab/malloc.h>
#include <slab/slab.h>

#include "pblock_memory.h"

namespace
{

constexpr int none = -1;
int until_failure = none;
bool failed;
std::size_t ever;

/* Not before it is needed first, nor destroyed before the last one needed it. */
std::set<const void *> &living()
{
	static auto *all = new std::set<const void *>;

	return *all;
}

bool fails()
{
	ever++;
	if (until_failure == none)
		return false;
	if (until_failure > 0) {
		until_failure--;
		return false;
	}
	until_failure = none;
	failed = true;
	errno = ENOMEM;
	return true;
}

void *born(void *memory)
{
	if (memory)
		living().insert(memory);
	return memory;
}

} // namespace

namespace pblock_test
{

std::size_t allocations()
{
	return living().size();
}

std::size_t allocations_ever()
{
	return ever;
}

failing_allocation::failing_allocation(int n)
{
	failed = false;
	until_failure = n;
}

bool failing_allocation::stop()
{
	until_failure = none;
	return failed;
}

} // namespace pblock_test

extern "C" {
void *__real_calloc(std::size_t n, std::size_t size);
void __real_free(void *memory);
void *__real_slab_alloc(struct slab_cache *cache);
void __real_slab_free(struct slab_cache *cache, void *obj);
void *__real_slab_malloc(std::size_t size);
void __real_slab_mfree(void *memory);

void *__wrap_calloc(std::size_t n, std::size_t size);
void __wrap_free(void *memory);
void *__wrap_slab_alloc(struct slab_cache *cache);
void __wrap_slab_free(struct slab_cache *cache, void *obj);
void *__wrap_slab_malloc(std::size_t size);
void __wrap_slab_mfree(void *memory);

void *__wrap_calloc(std::size_t n, std::size_t size)
{
	return fails() ? nullptr : born(__real_calloc(n, size));
}

void __wrap_free(void *memory)
{
	living().erase(memory);
	__real_free(memory);
}

void *__wrap_slab_alloc(struct slab_cache *cache)
{
	return fails() ? nullptr : born(__real_slab_alloc(cache));
}

void __wrap_slab_free(struct slab_cache *cache, void *obj)
{
	living().erase(obj);
	__real_slab_free(cache, obj);
}

void *__wrap_slab_malloc(std::size_t size)
{
	return fails() ? nullptr : born(__real_slab_malloc(size));
}

void __wrap_slab_mfree(void *memory)
{
	living().erase(memory);
	__real_slab_mfree(memory);
}
}
