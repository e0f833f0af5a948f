/* SPDX-License-Identifier: MIT */
/*
 * The functions that clang calls with tokens, called by hand through libslab_token.a. With
 * libslab_malloc.so they have types, and without it they are the plain ones.
 */
#include "preloaded.h"

#include <slab/pointer.h>
#include <slab/stats.h>
#include <slab/token.h>

extern "C" {
#include "token_entries.h"
void *__alloc_token_63_malloc(size_t size);
void *__alloc_token_255__Znwm(size_t size);

/* An allocation function of the program. The call within has another type, such as that of a
 * cast. */
static void *wrapped_alloc(size_t n, size_t size)
{
	return __alloc_token_malloc(n * size, 0x89);
}
void *__alloc_token_wrapped_alloc(size_t n, size_t size, uint64_t token);
SLAB_TOKEN_WRAPPER(void *, wrapped_alloc, (size_t n, size_t size), (n, size))
}

namespace
{

constexpr std::uint64_t token = UINT64_C(0xD5D5177A51D2519E);
constexpr std::size_t size = 72;
const std::size_t too_large = std::size_t(PTRDIFF_MAX) + 1;
const std::nothrow_t &nothrow = std::nothrow;
const bool is_live = dlsym(RTLD_DEFAULT, "free_aligned_sized") && std::getenv("LD_PRELOAD");

struct entry {
	const char *name;
	std::function<void *(std::size_t)> allocate;
};

void *aligned_by_posix(std::size_t n)
{
	void *ptr = nullptr;

	return __alloc_token_posix_memalign(&ptr, 64, n, token) == 0 ? ptr : nullptr;
}

#define ENTRY(name, ...)                                                                           \
	{#name, [](std::size_t n) { return __alloc_token_##name(__VA_ARGS__, token); }}
const std::vector<entry> plain_entries = {
	ENTRY(malloc, n),
	ENTRY(calloc, 1, n),
	ENTRY(realloc, nullptr, n),
	ENTRY(reallocarray, nullptr, 1, n),
	ENTRY(_ZnwmRKSt9nothrow_t, n, &nothrow),
	ENTRY(_ZnamRKSt9nothrow_t, n, &nothrow),
};
const std::vector<entry> throwing_entries = {ENTRY(_Znwm, n), ENTRY(_Znam, n)};
const std::vector<entry> aligned_entries = {
	ENTRY(aligned_alloc, 64, n),
	ENTRY(memalign, 64, n),
	ENTRY(_ZnwmSt11align_val_tRKSt9nothrow_t, n, 64, &nothrow),
	ENTRY(_ZnamSt11align_val_tRKSt9nothrow_t, n, 64, &nothrow),
	{"posix_memalign", aligned_by_posix},
};
const std::vector<entry> throwing_aligned_entries = {
	ENTRY(_ZnwmSt11align_val_t, n, 64),
	ENTRY(_ZnamSt11align_val_t, n, 64),
};

std::vector<entry> all_of(std::initializer_list<const std::vector<entry> *> lists)
{
	std::vector<entry> all;

	for (const auto *list : lists)
		all.insert(all.end(), list->begin(), list->end());
	return all;
}

/* Free as it was allocated: with debug flag U anything else is reported. */
void release(const entry &entry, void *ptr)
{
	const std::string name = entry.name;
	const bool is_array = name.rfind("_Zna", 0) == 0;

	if (name.rfind("_Zn", 0) != 0)
		std::free(ptr);
	else if (name.find("align_val_t") == std::string::npos)
		is_array ? ::operator delete[](ptr) : ::operator delete(ptr);
	else
		is_array ? ::operator delete[](ptr, std::align_val_t{64})
			 : ::operator delete(ptr, std::align_val_t{64});
}

std::string cache_name(const void *ptr)
{
	struct slab_cache *cache = slab_cache_of(ptr);

	return cache ? slab_cache_name(cache) : "";
}

TEST(TokenEntries, HaveTheType)
{
	if (!is_live)
		GTEST_SKIP() << "without libslab_malloc.so there are no types";
	for (const entry &entry : all_of({&plain_entries, &throwing_entries})) {
		void *ptr = entry.allocate(size);

		EXPECT_EQ(cache_name(ptr), "token-D5D5177A51D2519E") << entry.name;
		release(entry, ptr);
	}
}

TEST(TokenEntries, AreAligned)
{
	for (const entry &entry : all_of({&aligned_entries, &throwing_aligned_entries})) {
		void *ptr = entry.allocate(size);

		EXPECT_TRUE(is_aligned(ptr, 64)) << entry.name;
		std::memset(ptr, 1, size);
		release(entry, ptr);
	}
}

TEST(TokenEntries, WithoutMemoryTheyFailAsThePlainOnes)
{
	for (const entry &entry : all_of({&plain_entries, &aligned_entries}))
		EXPECT_EQ(entry.allocate(hidden(too_large)), nullptr) << entry.name;
	for (const entry &entry : all_of({&throwing_entries, &throwing_aligned_entries}))
		EXPECT_THROW(entry.allocate(hidden(too_large)), std::bad_alloc) << entry.name;
}

/* Take objects of one type until its limit. */
std::vector<void *> take_all(std::uint64_t type)
{
	std::vector<void *> all;

	try {
		while (all.size() < 100000)
			all.push_back(__alloc_token__Znwm(size, type));
	} catch (const std::bad_alloc &) {
	}
	return all;
}

void release_all(const std::vector<void *> &all)
{
	for (void *ptr : all)
		::operator delete(ptr);
}

class TokenLimit : public testing::Test
{
protected:
	void SetUp() override
	{
		if (!is_live)
			GTEST_SKIP() << "without libslab_malloc.so there are no types";
		void *ptr = __alloc_token__Znwm(size, type);

		ASSERT_EQ(slab_stat_write(slab_cache_of(ptr), "limit", 256 << 10), 0);
		::operator delete(ptr);
	}

	static constexpr std::uint64_t type = 0x11117;
};

TEST_F(TokenLimit, StopsNew)
{
	const std::vector<void *> all = take_all(type);

	EXPECT_LT(all.size(), (256 << 10) / size);
	release_all(all);
}

TEST_F(TokenLimit, AsksTheNewHandler)
{
	static std::vector<void *> all;
	static unsigned asked;

	all = take_all(type);
	std::set_new_handler([] {
		asked++;
		release_all(all);
		all.clear();
	});
	void *ptr = __alloc_token__Znwm(size, type);

	std::set_new_handler(nullptr);
	EXPECT_EQ(asked, 1U);
	EXPECT_EQ(slab_cache_name(slab_cache_of(ptr)), std::string("token-0000000000011117"));
	::operator delete(ptr);
}

TEST(TokenEntries, WrongAlignmentsAreRefused)
{
	void *ptr = &ptr;

	EXPECT_EQ(__alloc_token_posix_memalign(&ptr, 24, size, token), EINVAL);
	EXPECT_EQ(__alloc_token_posix_memalign(&ptr, 4, size, token), EINVAL);
	EXPECT_EQ(ptr, &ptr);
	EXPECT_EQ(__alloc_token_reallocarray(nullptr, hidden(too_large), 4, token), nullptr);
}

TEST(TokenEntries, WholePagesStayWholePages)
{
	for (void *ptr : {__alloc_token_valloc(10, token), __alloc_token_pvalloc(10, token)}) {
		EXPECT_TRUE(is_aligned(ptr, 4096));
		std::free(ptr);
	}
}

TEST(TokenEntries, FastOnesHaveTheirNumber)
{
	void *c = __alloc_token_63_malloc(40), *cxx = __alloc_token_255__Znwm(40);

	if (is_live) {
		EXPECT_EQ(cache_name(c), "token-000000000000003F");
		EXPECT_EQ(cache_name(cxx), "token-00000000000000FF");
	}
	std::free(c);
	::operator delete(cxx);
}

TEST(TokenEntries, AWrapperPassesTheTypeOn)
{
	void *ptr = __alloc_token_wrapped_alloc(3, 40, 0x1234567), *after;

	after = __alloc_token_malloc(120, 0);
	if (is_live) {
		EXPECT_EQ(cache_name(ptr), "token-0000000001234567");
		EXPECT_EQ(cache_name(after), "size-128");
	}
	std::free(ptr);
	std::free(after);
}

TEST(TokenEntries, ThreadsAllocateAndFreeEachOthersTypes)
{
	std::vector<std::thread> threads;
	std::mutex mutex;
	std::deque<void *> shared;

	for (unsigned t = 0; t < 4; t++)
		threads.emplace_back([&, t] {
			for (unsigned i = 0; i < 20000; i++) {
				void *ptr = __alloc_token_malloc(16 + i % 500, token + t), *other;

				std::memset(ptr, int(t), 16 + i % 500);
				const std::lock_guard<std::mutex> lock(mutex);
				shared.push_back(ptr);
				other = shared.size() > 50 ? shared.front() : nullptr;
				if (other)
					shared.pop_front();
				std::free(other);
			}
		});
	for (auto &thread : threads)
		thread.join();
	for (void *ptr : shared)
		std::free(ptr);
}

} /* namespace */
