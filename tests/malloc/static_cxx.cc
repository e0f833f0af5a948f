/* SPDX-License-Identifier: MIT */
/* A library that contains its C++ library, for programs in C: its operators new fail as they
 * should. */
#include <cstddef>
#include <new>

namespace
{

constexpr std::align_val_t aligned{256};
unsigned handled;

void handle()
{
	handled++;
	std::set_new_handler(nullptr);
}

template <typename allocate_t> bool throws(std::size_t size, allocate_t allocate)
{
	handled = 0;
	std::set_new_handler(handle);
	try {
		allocate(size);
		return false;
	} catch (const std::bad_alloc &) {
		return handled == 1;
	}
}

} /* namespace */

/* The number of the first form that fails in another way; 0: there is none. */
extern "C" int failing_news(std::size_t size)
{
	if (!throws(size, [](std::size_t n) { return ::operator new(n); }))
		return 1;
	if (!throws(size, [](std::size_t n) { return ::operator new[](n); }))
		return 2;
	if (!throws(size, [](std::size_t n) { return ::operator new(n, aligned); }))
		return 3;
	if (::operator new(size, std::nothrow))
		return 4;
	if (::operator new[](size, std::nothrow))
		return 5;
	return ::operator new(size, aligned, std::nothrow) ? 6 : 0;
}
