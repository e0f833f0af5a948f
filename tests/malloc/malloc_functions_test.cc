/* SPDX-License-Identifier: MIT */
/* Each function of the C library's malloc() family, at its edges. */
#include "preloaded.h"

namespace
{

const std::size_t beyond = std::size_t(PTRDIFF_MAX) + 1;
/* Of each kind of memory: the smallest cache, further ones, slabs of their own, mappings. */
const std::size_t sizes[] = {1,     8,     16,     17,      100,     1000,         4096,
			     32768, 32769, 100000, 1 << 20, 3 << 20, (9 << 20) + 1};

/* Each function that allocates, with 16 bytes of alignment or more. */
const std::vector<std::pair<std::string, std::function<void *(std::size_t)>>> allocators = {
	{"malloc", [](std::size_t n) { return malloc(n); }},
	{"calloc", [](std::size_t n) { return calloc(n, 1); }},
	{"calloc of one", [](std::size_t n) { return calloc(1, n); }},
	{"realloc", [](std::size_t n) { return realloc(nullptr, n); }},
	{"reallocarray", [](std::size_t n) { return reallocarray(nullptr, n, 1); }},
	{"aligned_alloc", [](std::size_t n) { return aligned_alloc(64, n); }},
	{"memalign", [](std::size_t n) { return memalign(256, n); }},
	{"posix_memalign",
	 [](std::size_t n) {
		 void *ptr = nullptr;
		 const int error = posix_memalign(&ptr, 32, n);

		 if (error)
			 errno = error;
		 return ptr;
	 }},
	{"valloc", [](std::size_t n) { return valloc(n); }},
	{"pvalloc", [](std::size_t n) { return pvalloc(n); }},
};

TEST(MallocFamily, IsThatOfThePreloadedLibrary)
{
	for (const char *name :
	     {"malloc", "free", "calloc", "realloc", "posix_memalign", "aligned_alloc",
	      "malloc_usable_size", "mallinfo2", "_Znwm", "_ZdlPv"}) {
		Dl_info info = {};

		ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, name), &info), 0) << name;
		EXPECT_NE(std::strstr(info.dli_fname, "libslab_malloc.so"), nullptr) << name;
	}
}

TEST(MallocFamily, SizeZeroHasAUniquePointer)
{
	for (const auto &[name, allocate] : allocators) {
		void *one = allocate(hidden(0)), *other = allocate(hidden(0));

		EXPECT_NE(one, nullptr) << name;
		EXPECT_NE(other, nullptr) << name;
		EXPECT_NE(one, other) << name;
		free(one);
		free(other);
	}
}

TEST(MallocFamily, SuccessAndFreeLeaveErrnoAlone)
{
	for (const auto &[name, allocate] : allocators)
		for (const std::size_t size : sizes) {
			const errno_watch watch;
			void *ptr = allocate(size), *moved;

			EXPECT_TRUE(watch.is_untouched()) << name << " " << size;
			moved = realloc(ptr, 2 * size);
			EXPECT_TRUE(watch.is_untouched()) << name << " " << size;
			free(moved);
			EXPECT_TRUE(watch.is_untouched()) << name << " " << size;
		}
}

TEST(MallocFamily, AllBytesAreUsable)
{
	for (const auto &[name, allocate] : allocators)
		for (const std::size_t size : sizes) {
			char *ptr = static_cast<char *>(allocate(size));
			std::size_t usable;

			ASSERT_NE(ptr, nullptr) << name << " " << size;
			EXPECT_TRUE(is_aligned(ptr, 16)) << name << " " << size;
			usable = malloc_usable_size(ptr);
			EXPECT_GE(usable, size) << name;
			std::memset(ptr, 0x5a, usable);
			free(ptr);
		}
}

/* More than PTRDIFF_MAX, or than the address space of a process. */
TEST(MallocFamily, SizesThatNoMachineHasFail)
{
	for (const auto &[name, allocate] : allocators)
		for (const std::size_t size :
		     {beyond, beyond + 4096, SIZE_MAX, SIZE_MAX - 15, SIZE_MAX - 4095,
		      SIZE_MAX - (std::size_t(2) << 20), std::size_t(1) << 48,
		      std::size_t(PTRDIFF_MAX), beyond - 4096}) {
			errno = 0;
			EXPECT_EQ(allocate(hidden(size)), nullptr) << name << " " << size;
			EXPECT_EQ(errno, ENOMEM) << name << " " << size;
		}
}

/* Does the kernel promise any memory that is asked for? */
bool overcommits()
{
	std::ifstream file("/proc/sys/vm/overcommit_memory");

	return file.get() == '1';
}

TEST(MallocFamily, SizesThatTheMachineDoesNotHaveFail)
{
	void *before = std::malloc(20 << 20);

	if (overcommits())
		GTEST_SKIP() << "/proc/sys/vm/overcommit_memory is 1";
	for (const std::size_t size : {std::size_t(1) << 45, std::size_t(1) << 46}) {
		for (const auto &[name, allocate] : allocators) {
			errno = 0;
			EXPECT_EQ(allocate(hidden(size)), nullptr) << name << " " << size;
			EXPECT_EQ(errno, ENOMEM) << name << " " << size;
		}
		EXPECT_EQ(std::realloc(before, hidden(size)), nullptr) << size;
		EXPECT_EQ(aligned_alloc(std::size_t(1) << 30, hidden(size)), nullptr) << size;
	}
	std::free(before);
}

/* The alignment takes no memory. */
TEST(MallocFamily, AnAlignmentMayBeLargerThanTheMachinesMemory)
{
	const std::size_t align = std::size_t(1) << 42;
	char *ptr = static_cast<char *>(aligned_alloc(align, 4096));

	if (!ptr)
		GTEST_SKIP() << "the address space has no room for it";
	EXPECT_TRUE(is_aligned(ptr, align));
	std::memset(ptr, 1, 4096);
	std::free(ptr);
}

TEST(MallocFamily, ProductsThatOverflowFail)
{
	const std::size_t half = std::size_t(1) << 33;
	char *ptr = static_cast<char *>(malloc(100));

	std::memset(ptr, 7, 100);
	for (const auto &[n, size] :
	     {std::pair(half, half), std::pair(SIZE_MAX, std::size_t(2)),
	      std::pair(std::size_t(2), SIZE_MAX), std::pair(half, half / 2)}) {
		errno = 0;
		EXPECT_EQ(calloc(hidden(n), hidden(size)), nullptr);
		EXPECT_EQ(errno, ENOMEM);
		errno = 0;
		EXPECT_EQ(reallocarray(ptr, hidden(n), hidden(size)), nullptr);
		EXPECT_EQ(errno, ENOMEM);
	}
	EXPECT_EQ(std::count(ptr, ptr + 100, 7), 100);
	free(ptr);
}

TEST(MallocFamily, CallocReturnsZerosWhereOtherDataWas)
{
	for (const std::size_t size : sizes)
		for (int round = 0; round < 3; round++) {
			char *ptr = static_cast<char *>(calloc(1, size));

			ASSERT_NE(ptr, nullptr);
			EXPECT_EQ(std::count(ptr, ptr + size, 0), static_cast<long>(size)) << size;
			std::memset(ptr, -1, size);
			free(ptr);
		}
}

TEST(MallocFamily, ReallocKeepsTheContents)
{
	for (const std::size_t from : sizes)
		for (const std::size_t to : sizes) {
			const std::size_t both = std::min(from, to);
			char *old = static_cast<char *>(malloc(from)), *ptr;

			std::memset(old, 'x', both);
			ptr = static_cast<char *>(realloc(old, to));
			ASSERT_NE(ptr, nullptr);
			EXPECT_GE(malloc_usable_size(ptr), to);
			EXPECT_EQ(std::count(ptr, ptr + both, 'x'), static_cast<long>(both))
				<< from << " to " << to;
			free(ptr);
		}
}

/* The C library frees for size 0, whatever C23 says. */
TEST(MallocFamily, ReallocToZeroFreesAndReturnsNull)
{
	for (const std::size_t size : sizes) {
		const errno_watch watch;

		EXPECT_EQ(realloc(malloc(size), hidden(0)), nullptr);
		EXPECT_EQ(reallocarray(malloc(size), hidden(0), 8), nullptr);
		EXPECT_TRUE(watch.is_untouched());
	}
}

TEST(MallocFamily, ReallocThatFailsKeepsTheOldMemory)
{
	for (const std::size_t size : sizes) {
		char *ptr = static_cast<char *>(malloc(size));

		std::memset(ptr, 'k', size);
		errno = 0;
		EXPECT_EQ(realloc(ptr, hidden(beyond)), nullptr);
		EXPECT_EQ(errno, ENOMEM);
		EXPECT_EQ(std::count(ptr, ptr + size, 'k'), static_cast<long>(size));
		free(ptr);
	}
}

TEST(MallocFamily, EachPowerOfTwoIsAnAlignment)
{
	for (std::size_t align = 1; align <= std::size_t(64) << 20; align *= 2)
		for (const std::size_t size : sizes) {
			void *one = aligned_alloc(align, size), *other = memalign(align, size);

			ASSERT_NE(one, nullptr) << align << " " << size;
			ASSERT_NE(other, nullptr) << align << " " << size;
			EXPECT_TRUE(is_aligned(one, align)) << align << " " << size;
			EXPECT_TRUE(is_aligned(other, align)) << align << " " << size;
			std::memset(one, 1, size);
			std::memset(other, 2, size);
			free(one);
			free(other);
		}
}

TEST(MallocFamily, AlignedAllocRefusesOtherAlignments)
{
	for (const std::size_t align : {0, 3, 24, 100, 4097}) {
		errno = 0;
		EXPECT_EQ(aligned_alloc(hidden(align), 64), nullptr) << align;
		EXPECT_EQ(errno, EINVAL) << align;
	}
}

/* Alignments that POSIX excludes, and sizes. */
TEST(MallocFamily, PosixMemalignThatFailsTouchesNeitherPointerNorErrno)
{
	const auto fails = [](std::size_t align, std::size_t size, int error) {
		const errno_watch watch;
		int there;
		void *ptr = &there;

		EXPECT_EQ(posix_memalign(&ptr, hidden(align), hidden(size)), error)
			<< align << " " << size;
		EXPECT_EQ(ptr, &there);
		EXPECT_TRUE(watch.is_untouched());
	};

	for (const std::size_t align : {0, 1, 2, 4, 3, 12, 24, 100, 4097})
		fails(align, 64, EINVAL);
	for (const std::size_t size : {beyond, SIZE_MAX, std::size_t(1) << 48})
		fails(64, size, ENOMEM);
}

TEST(MallocFamily, MemalignTakesTheNextPowerOfTwo)
{
	for (const auto &[align, power] :
	     {std::pair(0, 8), std::pair(3, 4), std::pair(24, 32), std::pair(4097, 8192)}) {
		void *ptr = memalign(hidden(static_cast<std::size_t>(align)), 64);

		ASSERT_NE(ptr, nullptr);
		EXPECT_TRUE(is_aligned(ptr, static_cast<std::size_t>(power))) << align;
		free(ptr);
	}
	errno = 0;
	EXPECT_EQ(memalign(hidden(SIZE_MAX), 64), nullptr);
	EXPECT_EQ(errno, EINVAL);
}

TEST(MallocFamily, VallocAndPvallocReturnPages)
{
	const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

	for (const std::size_t size : sizes) {
		void *one = valloc(size), *other = pvalloc(size);

		EXPECT_TRUE(is_aligned(one, page));
		EXPECT_TRUE(is_aligned(other, page));
		EXPECT_GE(malloc_usable_size(other), (size + page - 1) / page * page);
		free(one);
		free(other);
	}
}

TEST(MallocFamily, NullMayBeFreed)
{
	const errno_watch watch;

	free(nullptr);
	cfree(nullptr);
	free_sized(nullptr, 10);
	free_aligned_sized(nullptr, 64, 10);
	EXPECT_EQ(malloc_usable_size(nullptr), 0U);
	EXPECT_TRUE(watch.is_untouched());
}

TEST(MallocFamily, SizedFreesTakeTheRequestedSize)
{
	for (const std::size_t size : sizes) {
		free_sized(malloc(size), size);
		free_sized(calloc(1, size), size);
		free_aligned_sized(aligned_alloc(128, size), 128, size);
		cfree(malloc(size));
	}
}

} /* namespace */
