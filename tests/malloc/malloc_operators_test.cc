/* SPDX-License-Identifier: MIT */
/* new and delete of C++ in all their forms. */
#include "preloaded.h"

namespace
{

constexpr std::size_t align = 256;
constexpr std::align_val_t aligned{align};
const std::size_t too_large = std::size_t(PTRDIFF_MAX) + 1;

struct form {
	std::string name;
	std::function<void *(std::size_t)> allocate;
	std::function<void(void *, std::size_t)> release;
	std::size_t align;
};

const std::vector<form> throwing = {
	{"new", [](std::size_t n) { return ::operator new(n); },
	 [](void *ptr, std::size_t) { ::operator delete(ptr); }, 16},
	{"new[]", [](std::size_t n) { return ::operator new[](n); },
	 [](void *ptr, std::size_t) { ::operator delete[](ptr); }, 16},
	{"new, sized delete", [](std::size_t n) { return ::operator new(n); },
	 [](void *ptr, std::size_t n) { ::operator delete(ptr, n); }, 16},
	{"new[], sized delete[]", [](std::size_t n) { return ::operator new[](n); },
	 [](void *ptr, std::size_t n) { ::operator delete[](ptr, n); }, 16},
	{"aligned new", [](std::size_t n) { return ::operator new(n, aligned); },
	 [](void *ptr, std::size_t) { ::operator delete(ptr, aligned); }, align},
	{"aligned new[]", [](std::size_t n) { return ::operator new[](n, aligned); },
	 [](void *ptr, std::size_t) { ::operator delete[](ptr, aligned); }, align},
	{"aligned new, sized delete", [](std::size_t n) { return ::operator new(n, aligned); },
	 [](void *ptr, std::size_t n) { ::operator delete(ptr, n, aligned); }, align},
	{"aligned new[], sized delete[]",
	 [](std::size_t n) { return ::operator new[](n, aligned); },
	 [](void *ptr, std::size_t n) { ::operator delete[](ptr, n, aligned); }, align},
};

const std::vector<form> nothrow = {
	{"new(nothrow)", [](std::size_t n) { return ::operator new(n, std::nothrow); },
	 [](void *ptr, std::size_t) { ::operator delete(ptr, std::nothrow); }, 16},
	{"new[](nothrow)", [](std::size_t n) { return ::operator new[](n, std::nothrow); },
	 [](void *ptr, std::size_t) { ::operator delete[](ptr, std::nothrow); }, 16},
	{"aligned new(nothrow)",
	 [](std::size_t n) { return ::operator new(n, aligned, std::nothrow); },
	 [](void *ptr, std::size_t) { ::operator delete(ptr, aligned, std::nothrow); }, align},
	{"aligned new[](nothrow)",
	 [](std::size_t n) { return ::operator new[](n, aligned, std::nothrow); },
	 [](void *ptr, std::size_t) { ::operator delete[](ptr, aligned, std::nothrow); }, align},
};

std::vector<form> all_forms()
{
	std::vector<form> all = throwing;

	all.insert(all.end(), nothrow.begin(), nothrow.end());
	return all;
}

TEST(Operators, EachFormAllocates)
{
	for (const form &f : all_forms())
		for (const std::size_t size : {0, 1, 100, 5000, 40000, 3 << 20}) {
			void *ptr = f.allocate(size), *other = f.allocate(size);

			ASSERT_NE(ptr, nullptr) << f.name;
			EXPECT_NE(ptr, other) << f.name;
			EXPECT_TRUE(is_aligned(ptr, f.align)) << f.name;
			EXPECT_GE(malloc_usable_size(ptr), size) << f.name;
			std::memset(ptr, 1, size);
			f.release(ptr, size);
			f.release(other, size);
			f.release(nullptr, size);
		}
}

TEST(Operators, ThrowBadAlloc)
{
	for (const form &f : throwing)
		EXPECT_THROW(f.allocate(hidden(too_large)), std::bad_alloc) << f.name;
}

TEST(Operators, ReturnNullWithNothrow)
{
	for (const form &f : nothrow)
		EXPECT_EQ(f.allocate(hidden(too_large)), nullptr) << f.name;
}

/* Does it throw or return NULL? */
bool fails(const form &f)
{
	try {
		return f.allocate(hidden(too_large)) == nullptr;
	} catch (const std::bad_alloc &) {
		return true;
	}
}

unsigned handler_calls;

/* Finds no memory twice, and gives up. */
void handle()
{
	if (++handler_calls == 3)
		std::set_new_handler(nullptr);
}

TEST(Operators, CallTheNewHandlerUntilThereIsNone)
{
	for (const form &f : all_forms()) {
		handler_calls = 0;
		std::set_new_handler(handle);
		EXPECT_TRUE(fails(f)) << f.name;
		EXPECT_EQ(handler_calls, 3U) << f.name;
		std::set_new_handler(nullptr);
	}
}

struct out_of_paper {
};

TEST(Operators, PassWhatTheNewHandlerThrows)
{
	std::set_new_handler([] { throw out_of_paper(); });
	for (const form &f : throwing)
		EXPECT_THROW(f.allocate(hidden(too_large)), out_of_paper) << f.name;
	std::set_new_handler(nullptr);
}

/* With memory that new and malloc() share, as many programs expect of the C library. */
TEST(Operators, MemoryIsMallocs)
{
	for (const form &f : all_forms()) {
		char *old = static_cast<char *>(f.allocate(100)), *ptr;

		std::memset(old, 'm', 100);
		ptr = static_cast<char *>(realloc(old, 100000));
		EXPECT_EQ(ptr[99], 'm') << f.name;
		free(ptr);
	}
}

} /* namespace */
