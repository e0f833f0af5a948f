/* SPDX-License-Identifier: MIT */
/* symbolize(): the text of addresses of all kinds, and where it can be called. */
#include <sys/auxv.h>

#include "../support/folder.h"
#include "../support/process.h"

extern "C" {
#include "../support/symbol_apart.h"
#include "../support/rooms.h"
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                             \
	!TESTS_HAS_FEATURE(address_sanitizer) && !TESTS_HAS_FEATURE(thread_sanitizer)
#define COUNTS_MALLOC 1
static std::atomic<unsigned long> mallocs;

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

/* AddressSanitizer's, in a program that has it in the library alone. */
void *__interceptor_malloc(size_t size) __attribute__((weak));
void *__interceptor_calloc(size_t count, size_t size) __attribute__((weak));
void *__interceptor_realloc(void *old, size_t size) __attribute__((weak));

void *malloc(size_t size)
{
	mallocs++;
	return __interceptor_malloc ? __interceptor_malloc(size) : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	mallocs++;
	return __interceptor_calloc ? __interceptor_calloc(count, size)
				    : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	mallocs++;
	return __interceptor_realloc ? __interceptor_realloc(old, size) : __libc_realloc(old, size);
}
}
#endif

/* Functions that return an address inside of themselves. Volatile: a tail call would
 * return to another function. */
extern "C" __attribute__((noinline)) const void *symbol_test_here()
{
	return __builtin_extract_return_addr(__builtin_return_address(0));
}

static __attribute__((noinline)) const void *static_function()
{
	const void *volatile frame = symbol_test_here();

	return frame;
}

namespace
{

const void *compared_from;

extern "C" __attribute__((noinline)) int compare_nothing(const void *, const void *)
{
	compared_from = __builtin_return_address(0);
	return 0;
}

/* An address in bsearch() of the C library. */
const void *address_in_bsearch()
{
	void *(*volatile search)(const void *, const void *, size_t, size_t,
				 int (*)(const void *, const void *)) = bsearch;
	char array[4] = {};

	search(array, array, sizeof(array), 1, compare_nothing);
	return compared_from;
}

std::string text_of(const void *frame)
{
	char text[1][SYMBOL_TEXT];

	symbolize(1, &frame, text);
	return text[0];
}

/* "(PATH+0xOFFSET)", of what symbol_locate() says. */
std::string place_of(const void *frame)
{
	char path[4096], place[4200];
	uint64_t offset = 0;

	EXPECT_TRUE(symbol_locate(frame, path, sizeof(path), &offset));
	std::snprintf(place, sizeof(place), "(%s+0x%lx)", path, static_cast<unsigned long>(offset));
	return place;
}

bool ends_with(const std::string &text, const std::string &end)
{
	return text.size() >= end.size() &&
	       text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/* ---- texts ---- */

TEST(SymbolTest, AnExportedFunctionIsNamedBeforeItsPlace)
{
	const void *frame = address_in_bsearch();
	const std::string text = text_of(frame);

	EXPECT_EQ(text.compare(0, 10, "bsearch+0x"), 0) << text;
	EXPECT_TRUE(ends_with(text, " " + place_of(frame))) << text;
}

TEST(SymbolTest, OtherFunctionsHaveTheirPlace)
{
	EXPECT_EQ(text_of(static_function()), place_of(static_function()));
}

TEST(SymbolTest, AnAddressThatIsNowhereIsPrintedItself)
{
	const std::vector<const void *> frames = {reinterpret_cast<const void *>(0x10),
						  reinterpret_cast<const void *>(~0UL)};
	char text[2][SYMBOL_TEXT];

	symbolize(2, frames.data(), text);
	EXPECT_STREQ(text[0], "0x10");
	EXPECT_STREQ(text[1], "0xffffffffffffffff");
}

TEST(SymbolTest, NULLStandsForMoreFrames)
{
	const void *const frame = nullptr;
	char text[1][SYMBOL_TEXT];

	symbolize(1, &frame, text);
	EXPECT_STREQ(text[0], "...");
}

/* The vdso has a name and no file. */
TEST(SymbolTest, WhatHasNoFileHasNoPath)
{
	const unsigned long vdso = getauxval(AT_SYSINFO_EHDR);

	if (!vdso)
		GTEST_SKIP() << "there is no vdso";
	const std::string text = text_of(reinterpret_cast<const void *>(vdso + 1));

	EXPECT_EQ(text.find('('), std::string::npos) << text;
	EXPECT_NE(text.find("+0x"), std::string::npos) << text;
}

TEST(SymbolTest, NothingIsMadeOfNothing)
{
	symbolize(0, nullptr, nullptr);
}

/* A path that does not fit is left out. */
TEST(SymbolTest, ALongPathIsLeftOut)
{
	const folder dir;
	char self[4096] = {};

	if (running_again()) {
		EXPECT_EQ(text_of(static_function()).compare(0, 15, "long_program+0x"), 0)
			<< text_of(static_function());
		EXPECT_EQ(text_of(address_in_bsearch()).compare(0, 10, "bsearch+0x"), 0);
		return;
	}
	ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
	const std::string longer = dir.path + "/" + std::string(140, 'f');
	const std::string program = longer + "/long_program";

	ASSERT_EQ(std::system(("mkdir " + longer + " && cp " + self + " " + program).c_str()), 0);
	EXPECT_EQ(std::system((std::string(again_variable) + "=1 LD_LIBRARY_PATH=" +
			       std::string(self, std::strrchr(self, '/')) + "/../lib " + program +
			       " --gtest_filter=SymbolTest.ALongPathIsLeftOut >" + dir.path +
			       "/log 2>&1 || { cat " + dir.path + "/log; false; }")
				      .c_str()),
		  0);
}

TEST(SymbolTest, LibrariesWithRelativeNamesAreFoundFromAnotherFolder)
{
	const auto *frame = reinterpret_cast<const char *>(&symbol_apart) + 1;
	char text[SYMBOL_TEXT], folder[4096];
	const ssize_t len = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

	if (running_again()) {
		Dl_info info;

		ASSERT_NE(dladdr(frame, &info), 0);
		ASSERT_NE(info.dli_fname[0], '/');
		ASSERT_EQ(chdir("/"), 0);
		symbol_apart(frame, text);
		EXPECT_EQ(std::string(text).compare(0, 19, "symbol_apart+0x1 (/"), 0) << text;
		return;
	}
	ASSERT_GT(len, 0);
	folder[len] = '\0';
	*std::strrchr(folder, '/') = '\0';
	ASSERT_EQ(chdir(folder), 0);
	const second_run run = run_again({"LD_LIBRARY_PATH=../lib"});
	EXPECT_EQ(run.failure, "") << run.output;
}

/* ---- a library that another thread unloads ---- */

TEST(SymbolTest, ALibraryMayBeUnloadedMeanwhile)
{
	std::atomic<const void *> frame{nullptr};
	std::atomic<bool> done{false};
	unsigned named = 0, unnamed = 0;
	std::thread loader([&] {
		while (!done) {
			void *plugin = dlopen(SYMBOL_PLUGIN, RTLD_NOW);

			if (!plugin)
				break;
			frame = static_cast<const char *>(dlsym(plugin, "plugin_hhhh")) + 1;
			usleep(1000); /* longer than a look */
			dlclose(plugin);
		}
	});

	while (!frame)
		std::this_thread::yield();
	while (named < 20 || unnamed < 20) {
		const std::string text = text_of(frame);

		if (text.compare(0, 15, "plugin_hhhh+0x1") == 0)
			named++;
		else if (text.compare(0, 2, "0x") == 0)
			unnamed++;
		else
			ASSERT_NE(text.find(SYMBOL_PLUGIN), std::string::npos) << text;
	}
	done = true;
	loader.join();
}

/* ---- where an address is ---- */

TEST(SymbolTest, LocatesTheProgramAndTheOffsetInIt)
{
	char path[4096], self[4096] = {};
	uint64_t offset = 0;
	Dl_info info;

	ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
	ASSERT_TRUE(symbol_locate(static_function(), path, sizeof(path), &offset));
	EXPECT_STREQ(path, self);
	ASSERT_NE(dladdr(static_function(), &info), 0);
	EXPECT_EQ(static_cast<const char *>(info.dli_fbase) + offset, static_function());
}

TEST(SymbolTest, LocatesASharedLibrary)
{
	char path[4096];
	uint64_t offset = 0;

	ASSERT_TRUE(symbol_locate(address_in_bsearch(), path, sizeof(path), &offset));
	EXPECT_NE(std::strstr(path, "/libc.so.6"), nullptr) << path;
}

TEST(SymbolTest, WhatIsInNoFileIsNotLocated)
{
	char path[4096];
	uint64_t offset = 0;

	errno = 1234;
	EXPECT_FALSE(symbol_locate(nullptr, path, sizeof(path), &offset));
	EXPECT_FALSE(symbol_locate(&offset, path, sizeof(path), &offset));
	EXPECT_FALSE(symbol_locate(static_function(), path, 4, &offset));
	EXPECT_FALSE(symbol_locate(address_in_bsearch(), path, 4, &offset));
	EXPECT_EQ(errno, 1234);
}

/* ---- where it can be called ---- */

TEST(SymbolTest, ErrnoIsUntouched)
{
	errno = 1234;
	text_of(static_function());
	EXPECT_EQ(errno, 1234);
}

#ifdef COUNTS_MALLOC
TEST(SymbolTest, MallocIsNotCalled)
{
	const void *frames[] = {static_function(), address_in_bsearch()};
	char text[2][SYMBOL_TEXT];
	unsigned long before;

	free(malloc(1));
	before = mallocs;
	ASSERT_GT(before, 0U) << "the count does not count";
	symbolize(2, frames, text);
	EXPECT_EQ(mallocs, before);
}
#endif

const void *handled_frame;
std::string handled_expected;

/* 0: the text is right. On an alternate stack of the usual size. */
int crash_and_symbolize()
{
	static char stack[16384];
	const stack_t alternate = {stack, 0, sizeof(stack)};
	struct sigaction action = {};

	sigaltstack(&alternate, nullptr);
	action.sa_flags = SA_ONSTACK;
	action.sa_handler = [](int) {
		static char text[1][SYMBOL_TEXT];

		symbolize(1, &handled_frame, text);
		_exit(handled_expected == text[0] ? 0 : 1);
	};
	sigaction(SIGSEGV, &action, nullptr);
	raise(SIGSEGV);
	return 2;
}

TEST(SymbolTest, WorksInAProcessThatCrashes)
{
	handled_frame = address_in_bsearch();
	handled_expected = text_of(handled_frame);
	EXPECT_IN_CHILD(crash_and_symbolize);
}

} /* namespace */
