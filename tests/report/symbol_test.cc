/* SPDX-License-Identifier: MIT */
/*
 * symbolize(): what it says about addresses of all kinds, with and without
 * slab-symbolize. Where it can be called: symbol_anywhere_test.cc.
 */
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "../support/process.h"
#include "../support/symbols.h"

extern "C" {
#include "../support/symbol_apart.h"
#include "report/symbol.h"
}

using namespace slab_test;

/* Functions that return an address inside of themselves, and its line. */

#define NOINLINE __attribute__((noinline))

extern "C" NOINLINE const void *symbol_test_here()
{
	return __builtin_extract_return_addr(__builtin_return_address(0));
}

/* Volatile: a tail call would return to somebody else. */
#define RETURN_HERE(line)                                                                          \
	const void *volatile frame = symbol_test_here();                                           \
	*(line) = __LINE__;                                                                        \
	return frame

extern "C" NOINLINE const void *exported_function(int *line)
{
	RETURN_HERE(line);
}

static NOINLINE const void *static_function(int *line)
{
	RETURN_HERE(line);
}

static inline __attribute__((always_inline)) const void *inlined_function(int *line)
{
	RETURN_HERE(line);
}

static NOINLINE const void *outer_function(int *line)
{
	const void *volatile frame = inlined_function(line);

	return frame;
}

namespace directory
{

template <typename Key> class index
{
public:
	NOINLINE const void *find(Key key, int *line) const
	{
		(void)key;
		RETURN_HERE(line);
	}
};

} /* namespace directory */

namespace
{

const void *compared_from;

extern "C" NOINLINE int compare_nothing(const void *, const void *)
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

/* A shell script in place of slab-symbolize. */
class script
{
public:
	/* $log is a file for it to write to. */
	explicit script(const std::string &commands, mode_t mode = 0755)
		: path_("/tmp/slab-symbol-test-" + std::to_string(getpid()))
	{
		std::ofstream(path_) << "#!/bin/sh\nlog=" << path_ << ".log\n" << commands << "\n";
		EXPECT_EQ(chmod(path_.c_str(), mode), 0);
	}

	~script()
	{
		unlink(path_.c_str());
		unlink((path_ + ".log").c_str());
	}

	const char *path() const
	{
		return path_.c_str();
	}

	std::string log() const
	{
		std::string text;

		std::getline(std::ifstream(path_ + ".log"), text, '\0');
		return text;
	}

private:
	std::string path_;
};

double seconds_of(const void *frame, std::string *text)
{
	const auto start = std::chrono::steady_clock::now();

	*text = text_of(frame);
	return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/* ---- texts ---- */

TEST_F(SymbolTest, NamesAFunctionWithFileLineAndOffset)
{
	const auto start = reinterpret_cast<uintptr_t>(&exported_function);
	char expected[SYMBOL_TEXT];

	std::snprintf(expected, sizeof(expected), "exported_function+0x%lx%s",
		      static_cast<unsigned long>(reinterpret_cast<uintptr_t>(frame_) - start),
		      place(line_).c_str());
	EXPECT_EQ(text_of(frame_), expected);
}

TEST_F(SymbolTest, NamesAStaticFunction)
{
	int line = 0;
	const void *frame = static_function(&line);

	EXPECT_EQ(without_offset(text_of(frame)), "static_function" + place(line));
}

TEST_F(SymbolTest, NamesInlinedCodeAndWhereItIs)
{
	int line = 0;
	const void *frame = outer_function(&line);

	EXPECT_EQ(without_offset(text_of(frame)),
		  "inlined_function in outer_function" + place(line));
}

TEST_F(SymbolTest, NamesAMethodWithoutItsArguments)
{
	int line = 0;
	const void *frame = directory::index<const char *>().find("uid", &line);

	EXPECT_EQ(without_offset(text_of(frame)), "directory::index::find" + place(line));
}

TEST_F(SymbolTest, NamesAFunctionOfTheCLibrary)
{
	EXPECT_EQ(text_of(address_in_bsearch()).compare(0, 10, "bsearch+0x"), 0);
}

TEST_F(SymbolTest, AnAddressThatIsNowhereIsPrintedItself)
{
	const std::vector<const void *> frames = {nullptr, reinterpret_cast<const void *>(0x10),
						  reinterpret_cast<const void *>(~0UL)};
	char text[3][SYMBOL_TEXT];

	symbolize(3, frames.data(), text);
	EXPECT_STREQ(text[0], "0x0");
	EXPECT_STREQ(text[1], "0x10");
	EXPECT_STREQ(text[2], "0xffffffffffffffff");
}

TEST_F(SymbolTest, ManyAddressesKeepTheirOrder)
{
	const std::string in_bsearch = text_of(address_in_bsearch());
	constexpr unsigned count = 200;
	std::vector<const void *> frames;
	static char text[count][SYMBOL_TEXT];

	symbol_use(nullptr, patient_ms);
	for (unsigned i = 0; i < count; i++)
		frames.push_back(i % 3 == 0   ? frame_
				 : i % 3 == 1 ? address_in_bsearch()
					      : reinterpret_cast<const void *>(0x10));
	symbolize(count, frames.data(), text);
	for (unsigned i = 0; i < count; i++) {
		if (i % 3 == 0)
			EXPECT_EQ(without_offset(text[i]), full_) << i;
		else
			EXPECT_EQ(text[i], i % 3 == 1 ? in_bsearch : "0x10") << i;
	}
}

TEST_F(SymbolTest, NothingIsAskedOfNothing)
{
	symbolize(0, nullptr, nullptr);
}

TEST_F(SymbolTest, ASharedLibraryFindsTheProgramFromItsOwnPlace)
{
	char text[SYMBOL_TEXT];

	symbol_apart(frame_, text);
	EXPECT_EQ(without_offset(text), full_);
}

TEST_F(SymbolTest, LibrariesWithRelativeNamesAreFoundFromAnotherFolder)
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
		EXPECT_EQ(std::string(text).compare(0, 33, "symbol_apart+0x1 (symbol_apart.c:"), 0)
			<< text;
		return;
	}
	ASSERT_GT(len, 0);
	folder[len] = '\0';
	*std::strrchr(folder, '/') = '\0';
	ASSERT_EQ(chdir(folder), 0);
	const second_run run = run_again({"LD_LIBRARY_PATH=../lib"});
	EXPECT_EQ(run.failure, "") << run.output;
}

/* ---- where an address is ---- */

TEST_F(SymbolTest, LocatesTheProgramAndTheOffsetInIt)
{
	char path[4096], self[4096] = {};
	uint64_t offset = 0;

	ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
	ASSERT_TRUE(symbol_locate(frame_, path, sizeof(path), &offset));
	EXPECT_STREQ(path, self);
	symbol_use("/nonexistent", 0);
	EXPECT_EQ(text_of(frame_).substr(text_of(frame_).find("+0x") + 1), [&] {
		char text[32];

		std::snprintf(text, sizeof(text), "0x%lx", static_cast<unsigned long>(offset));
		return std::string(text);
	}());
}

TEST_F(SymbolTest, LocatesASharedLibrary)
{
	char path[4096];
	uint64_t offset = 0;

	ASSERT_TRUE(symbol_locate(address_in_bsearch(), path, sizeof(path), &offset));
	EXPECT_NE(std::strstr(path, "/libc.so.6"), nullptr) << path;
}

TEST_F(SymbolTest, WhatIsInNoFileIsNotLocated)
{
	char path[4096];
	uint64_t offset = 0;

	errno = 1234;
	EXPECT_FALSE(symbol_locate(nullptr, path, sizeof(path), &offset));
	EXPECT_FALSE(symbol_locate(&offset, path, sizeof(path), &offset));
	EXPECT_FALSE(symbol_locate(frame_, path, 4, &offset));
	EXPECT_FALSE(symbol_locate(address_in_bsearch(), path, 4, &offset));
	EXPECT_EQ(errno, 1234);
}

/* ---- without the program, or with another one ---- */

TEST_F(SymbolTest, WithoutTheProgramTheLinkersKnowledgeHasToDo)
{
	symbol_use("/nonexistent", 0);
	EXPECT_EQ(without_offset(text_of(frame_)), "symbol_test");
	EXPECT_EQ(without_offset(text_of(address_in_bsearch())), "bsearch");
	EXPECT_EQ(text_of(reinterpret_cast<const void *>(0x10)), "0x10");
}

TEST_F(SymbolTest, AProgramThatAnybodyMayChangeIsNotRun)
{
	const script helper("echo text", 0777);

	symbol_use(helper.path(), patient_ms);
	EXPECT_EQ(without_offset(text_of(frame_)), "symbol_test");
}

TEST_F(SymbolTest, AProgramOfSomebodyElseIsNotRun)
{
	const script helper("echo text");

	if (chown(helper.path(), 65534, 65534) != 0)
		GTEST_SKIP() << "needs root";
	symbol_use(helper.path(), patient_ms);
	EXPECT_EQ(without_offset(text_of(frame_)), "symbol_test");
}

TEST_F(SymbolTest, TheProgramIsAskedWithPathAndOffset)
{
	const script helper("read path offset; echo \"$path $offset\"");
	char path[4096], expected[4200];
	uint64_t offset;

	symbol_use(helper.path(), patient_ms);
	ASSERT_TRUE(symbol_locate(frame_, path, sizeof(path), &offset));
	std::snprintf(expected, sizeof(expected), "%s 0x%lx", path,
		      static_cast<unsigned long>(offset));
	EXPECT_EQ(text_of(frame_), std::string(expected).substr(0, SYMBOL_TEXT - 1));
}

TEST_F(SymbolTest, TheProgramGetsNoEnvironmentAndNoDescriptorOfOurs)
{
	const script helper("for fd in /proc/self/fd/2?; do [ -e $fd ] && open=yes; done\n"
			    "echo \"[$SLAB_SYMBOL_TEST] [$open]\"");
	const int fd = fcntl(STDIN_FILENO, F_DUPFD, 20);

	ASSERT_GE(fd, 20);
	setenv("SLAB_SYMBOL_TEST", "is set", 1);
	symbol_use(helper.path(), patient_ms);
	EXPECT_EQ(text_of(frame_), "[] []");
	close(fd);
}

TEST_F(SymbolTest, WhatTheProgramDoesNotKnowIsAskedOnce)
{
	const script helper("echo run >>$log; echo");

	symbol_use(helper.path(), patient_ms);
	EXPECT_EQ(without_offset(text_of(frame_)), "symbol_test");
	EXPECT_EQ(without_offset(text_of(frame_)), "symbol_test");
	EXPECT_EQ(helper.log(), "run\n");
}

TEST_F(SymbolTest, AnAnswerIsRemembered)
{
	const script helper("echo answer");

	symbol_use(helper.path(), patient_ms);
	EXPECT_EQ(text_of(frame_), "answer");
	unlink(helper.path());
	EXPECT_EQ(text_of(frame_), "answer");
}

TEST_F(SymbolTest, ALongAnswerIsCut)
{
	const script helper("printf '%0300d\\n' 7");

	symbol_use(helper.path(), patient_ms);
	EXPECT_EQ(text_of(frame_), std::string(SYMBOL_TEXT - 1, '0'));
}

TEST_F(SymbolTest, AProgramThatHangsIsEndedAfterTwoSeconds)
{
	const script helper("echo $$ >$log; exec sleep 1000");
	std::string text;
	pid_t pid;

	symbol_use(helper.path(), 0);
	EXPECT_GE(seconds_of(frame_, &text), 1.9);
	EXPECT_EQ(without_offset(text), "symbol_test");
	pid = std::atoi(helper.log().c_str());
	ASSERT_GT(pid, 0);
	EXPECT_EQ(kill(pid, 0), -1);
	EXPECT_EQ(errno, ESRCH);
}

TEST_F(SymbolTest, AProgramThatHungIsNotTriedAgainAtOnce)
{
	const script helper("exec sleep 1000");
	std::string text;

	symbol_use(helper.path(), 1000);
	EXPECT_GE(seconds_of(frame_, &text), 0.99);
	EXPECT_LT(seconds_of(frame_, &text), 0.99);
	EXPECT_EQ(without_offset(text), "symbol_test");
}

TEST_F(SymbolTest, WhatWasAnsweredBeforeAHangCounts)
{
	const script helper("echo first; exec sleep 1000");
	const void *frames[2] = {frame_, address_in_bsearch()};
	char text[2][SYMBOL_TEXT];

	symbol_use(helper.path(), 0);
	symbolize(2, frames, text);
	EXPECT_STREQ(text[0], "first");
	EXPECT_EQ(without_offset(text[1]), "bsearch");
}

} /* namespace */
