/* SPDX-License-Identifier: MIT */
/*
 * symbolize() can be called anywhere without anybody noticing: whatever the state of
 * signals, descriptors, children and memory, in a crash, by many threads.
 */
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "../support/process.h"
#include "../support/symbols.h"

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

namespace
{

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

	right = wrong = 0;
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
