/* SPDX-License-Identifier: MIT */
/* What the tests share that run with libslab_malloc.so as their malloc(). */
#pragma once

#include "../support/test.h"

#include <malloc.h>

/* These variables have names of functions that libslab_malloc.so exports. */
namespace preloaded
{

/* A function that the C library does not have, or calls deprecated. */
template <typename Function> Function *find_function(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);
	Function *function = nullptr;

	std::memcpy(&function, &found, sizeof(found));
	return function;
}

inline void (*const cfree)(void *) = find_function<void(void *)>("cfree");
inline void (*const free_sized)(void *, std::size_t) =
	find_function<void(void *, std::size_t)>("free_sized");
inline void (*const free_aligned_sized)(void *, std::size_t, std::size_t) =
	find_function<void(void *, std::size_t, std::size_t)>("free_aligned_sized");

} /* namespace preloaded */

using namespace preloaded;

/* A number of which the compiler knows nothing: it warns of sizes that cannot be allocated. */
inline std::size_t hidden(std::size_t n)
{
	asm volatile("" : "+r"(n));
	return n;
}

/* errno is what it was before, or an error. */
class errno_watch
{
public:
	errno_watch() { errno = untouched; }

	bool is_untouched() const { return errno == untouched; }

private:
	static constexpr int untouched = 4711;
};

inline bool is_aligned(const void *ptr, std::size_t align)
{
	return reinterpret_cast<std::uintptr_t>(ptr) % align == 0;
}
