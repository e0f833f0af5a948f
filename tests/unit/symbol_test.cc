/* SPDX-License-Identifier: MIT */
/*
 * symbolize(): what it says about addresses of all kinds, and that it can be
 * called anywhere without anybody noticing.
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

extern "C" {
#include "../support/symbol_apart.h"
#include "symbol.h"
}

using namespace slab_test;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                             \
	!TESTS_HAS_FEATURE(address_sanitizer) && !TESTS_HAS_FEATURE(thread_sanitizer)
#define COUNTS_MALLOC 1
static std::atomic<unsigned long> mallocs;

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
	mallocs++;
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	mallocs++;
	return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	mallocs++;
	return __libc_realloc(old, size);
}
}
#endif

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

std::string text_of(const void *frame)
{
	char text[1][SYMBOL_TEXT];

	symbolize(1, &frame, text);
	return text[0];
}

std::string place(int line)
{
	return " (symbol_test.cc:" + std::to_string(line) + ")";
}

/* What stands before and behind "+0x1c" in a text; "?" when that is missing. */
std::string without_offset(const std::string &text)
{
	const size_t at = text.find("+0x");
	size_t end = at + 3;

	if (at == std::string::npos)
		return "?";
	while (std::isxdigit(static_cast<unsigned char>(text[end])))
		end++;
	return end > at + 3 ? text.substr(0, at) + text.substr(end) : "?";
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

/* The machine may be busy, and sanitized programs start slowly. */
constexpr unsigned patient_ms = 60000;

class SymbolTest : public testing::Test
{
protected:
	void SetUp() override
	{
		symbol_use(nullptr, patient_ms);
		frame_ = exported_function(&line_);
		full_ = "exported_function" + place(line_);
	}

	void TearDown() override
	{
		symbol_use(nullptr, 0);
	}

	/* An address that every text_of() can look up anew. */
	const void *frame_ = nullptr;
	int line_ = 0;
	std::string full_;
};

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

/* ---- anywhere ---- */

TEST_F(SymbolTest, ErrnoIsUntouched)
{
	errno = 1234;
	EXPECT_EQ(without_offset(text_of(frame_)), full_);
	EXPECT_EQ(errno, 1234);
	symbol_use("/nonexistent", 0);
	text_of(frame_);
	EXPECT_EQ(errno, 1234);
}

TEST_F(SymbolTest, SignalsAreAsBefore)
{
	sigset_t before, after;

	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	text_of(frame_);
	pthread_sigmask(SIG_SETMASK, nullptr, &after);
	for (int number = 1; number < SIGRTMIN; number++)
		EXPECT_EQ(sigismember(&after, number), number == SIGUSR2) << number;
	sigemptyset(&before);
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

#ifdef COUNTS_MALLOC
TEST_F(SymbolTest, MallocIsNotCalled)
{
	char text[1][SYMBOL_TEXT];
	unsigned long before;

	free(malloc(1));
	before = mallocs;
	ASSERT_GT(before, 0U) << "the count does not count";
	symbolize(1, &frame_, text);
	EXPECT_EQ(mallocs, before);
	EXPECT_EQ(without_offset(text[0]), full_);
	symbol_use("/nonexistent", 0);
	before = mallocs;
	symbolize(1, &frame_, text);
	EXPECT_EQ(mallocs, before);
}
#endif

std::atomic<int> children_seen;

TEST_F(SymbolTest, TheApplicationSeesNoChildAndNoSignal)
{
	std::atomic<bool> done{false};
	std::atomic<bool> found{false};

	children_seen = 0;
	signal(SIGCHLD, [](int) { children_seen++; });
	std::thread waiter([&] {
		while (!done)
			if (waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD)
				found = true;
	});
	for (int i = 0; i < 5; i++) {
		symbol_use(nullptr, patient_ms);
		EXPECT_EQ(without_offset(text_of(frame_)), full_);
	}
	done = true;
	waiter.join();
	EXPECT_FALSE(found);
	EXPECT_EQ(children_seen, 0);
	signal(SIGCHLD, SIG_DFL);
}

TEST_F(SymbolTest, NoChildIsLeftBehind)
{
	text_of(frame_);
	EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
	EXPECT_EQ(errno, ECHILD);
}

TEST_F(SymbolTest, WorksWhereChildrenAreIgnored)
{
	signal(SIGCHLD, SIG_IGN);
	EXPECT_EQ(without_offset(text_of(frame_)), full_);
	signal(SIGCHLD, SIG_DFL);
}

TEST_F(SymbolTest, WorksWithAllSignalsBlocked)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	EXPECT_EQ(without_offset(text_of(frame_)), full_);
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(SymbolTest, WorksAtTheLimitOfDescriptors)
{
	EXPECT_EQ(run_in_child([&] {
			  const struct rlimit limit = {64, 64};

			  setrlimit(RLIMIT_NOFILE, &limit);
			  while (open("/dev/null", O_RDONLY) >= 0)
				  ;
			  if (errno != EMFILE)
				  return 2;
			  return without_offset(text_of(frame_)) == full_ ? 0 : 1;
		  }),
		  "");
}

TEST_F(SymbolTest, WorksWithoutStandardStreams)
{
	EXPECT_EQ(run_in_child([&] {
			  for (int fd = 0; fd < 3; fd++)
				  close(fd);
			  return without_offset(text_of(frame_)) == full_ ? 0 : 1;
		  }),
		  "");
}

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
		_exit(std::strstr(text[0], handled_expected.c_str()) ? 0 : 1);
	};
	sigaction(SIGSEGV, &action, nullptr);
	raise(SIGSEGV);
	return 2;
}

TEST_F(SymbolTest, WorksInAProcessThatCrashes)
{
	handled_frame = frame_;
	handled_expected = place(line_);
	EXPECT_EQ(run_in_child(crash_and_symbolize), "");
}

TEST_F(SymbolTest, ASignalHandlerMayCallItAtAnyMoment)
{
	static std::atomic<unsigned> right, wrong;

	handled_frame = frame_;
	symbol_use(nullptr, patient_ms);
	{
		const interruptions timer(200, [](int) {
			char text[1][SYMBOL_TEXT];

			symbolize(1, &handled_frame, text);
			(std::strncmp(text[0], "exported_function+", 18) == 0 ? right : wrong)++;
		});

		while (right + wrong < 20) {
			symbol_use(nullptr, patient_ms);
			EXPECT_EQ(without_offset(text_of(frame_)), full_);
		}
	}
	EXPECT_EQ(wrong, 0U);
}

TEST_F(SymbolTest, ThreadsGetTheSameAnswer)
{
	std::vector<std::thread> threads;
	std::atomic<unsigned> right{0};

	for (int i = 0; i < 8; i++)
		threads.emplace_back([&] { right += without_offset(text_of(frame_)) == full_; });
	for (std::thread &thread : threads)
		thread.join();
	EXPECT_EQ(right, 8U);
}

TEST_F(SymbolTest, WorksAfterForkAmongThreadsThatUseIt)
{
	std::atomic<bool> done{false};
	std::thread busy([&] {
		while (!done) {
			symbol_use(nullptr, patient_ms);
			text_of(frame_);
		}
	});

	for (int i = 0; i < 10; i++)
		EXPECT_EQ(run_in_child(
				  [&] { return without_offset(text_of(frame_)) == full_ ? 0 : 1; }),
			  "");
	done = true;
	busy.join();
}

} /* namespace */
