/* SPDX-License-Identifier: MIT */
/*
 * The handler of SIGSEGV and SIGBUS: faults that are not libslab's end as they would have
 * without it. Those of bad pointers: bad_pointer_test.cc.
 *
 * The handler stays until the process ends: each test has a process of its own.
 */
#include <csetjmp>

#include "../support/faults.h"
#include "../support/objects.h"
#include "../support/reports.h"
#include "../support/rooms.h"

namespace
{

class FaultTest : public testing::Test
{
protected:
	void SetUp() override
	{
		if (under_tsan)
			GTEST_SKIP() << "ThreadSanitizer delays signals";
	}
};

/* --- the program's own handlers -------------------------------------------------- */

struct seen {
	int calls, signal, code;
	void *address;
	const void *pc;
	sigset_t mask;
};

struct seen seen;
closed_memory *page;
sigjmp_buf back;

void see(int signal, siginfo_t *info, void *)
{
	seen.calls++;
	seen.signal = signal;
	seen.code = info->si_code;
	seen.address = info->si_addr;
	pthread_sigmask(SIG_BLOCK, nullptr, &seen.mask);
}

void see_and_repair(int signal, siginfo_t *info, void *context)
{
	see(signal, info, context);
	page->open();
}

void repair_and_change_errno(int, siginfo_t *, void *)
{
	page->open();
	errno = 78;
}

void see_and_leave(int signal, siginfo_t *info, void *context)
{
	see(signal, info, context);
	siglongjmp(back, 1);
}

void leave(int signal)
{
	seen.calls++;
	seen.signal = signal;
	siglongjmp(back, 1);
}

void handle_by(int signal, void (*handler)(int, siginfo_t *, void *), int flags = 0,
	       std::initializer_list<int> mask = {})
{
	struct sigaction action = {};

	action.sa_sigaction = handler;
	action.sa_flags = SA_SIGINFO | flags;
	for (int blocked : mask)
		sigaddset(&action.sa_mask, blocked);
	sigaction(signal, &action, nullptr);
}

/* In a child: a page, the program's handler, then ours. */
#define IN_CHILD(setup, ...)                                                                       \
	end_of_child([&]() -> int {                                                                \
		page = new closed_memory(4096);                                                    \
		setup;                                                                             \
		fault_install();                                                                   \
		__VA_ARGS__                                                                        \
	})

#define CHECK_OR_FAIL(condition)                                                                   \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			static const char text[] = #condition "\n";                                \
			[[maybe_unused]] const ssize_t written =                                   \
				write(STDERR_FILENO, text, sizeof(text) - 1);                      \
			return WRONG;                                                              \
		}                                                                                  \
	} while (0)

#define EXPECT_FINE(child)                                                                         \
	do {                                                                                       \
		const child_end end = child;                                                       \
		EXPECT_EQ(end.signal, 0);                                                          \
		EXPECT_EQ(end.status, FINE) << end.output;                                         \
	} while (0)

#define EXPECT_KILLED(number, child)                                                               \
	do {                                                                                       \
		const child_end end = child;                                                       \
		EXPECT_EQ(end.signal, number) << end.status;                                       \
		EXPECT_EQ(end.output, "");                                                         \
	} while (0)

TEST_F(FaultTest, AHandlerThatRepairsIsCalledWithTheAddress)
{
	EXPECT_FINE(IN_CHILD(handle_by(SIGSEGV, see_and_repair), {
		errno = 77;
		write_byte(page->get() + 5, 'x');
		CHECK_OR_FAIL(read_byte(page->get() + 5) == 'x');
		CHECK_OR_FAIL(errno == 77);
		CHECK_OR_FAIL(seen.calls == 1);
		CHECK_OR_FAIL(seen.signal == SIGSEGV);
		CHECK_OR_FAIL(seen.code == SEGV_ACCERR);
		CHECK_OR_FAIL(seen.address == page->get() + 5);
		return FINE;
	}));
}

TEST_F(FaultTest, ErrnoIsAsBeforeAHandlerThatChangesIt)
{
	EXPECT_FINE(IN_CHILD(handle_by(SIGSEGV, repair_and_change_errno), {
		errno = 77;
		write_byte(page->get(), 'x');
		CHECK_OR_FAIL(errno == 77);
		return FINE;
	}));
}

TEST_F(FaultTest, AHandlerThatLeavesIsCalledEachTime)
{
	EXPECT_FINE(IN_CHILD(handle_by(SIGSEGV, see_and_leave), {
		for (volatile int i = 0; i < 1000; i++) {
			if (!sigsetjmp(back, 1))
				read_byte(page->get() + i);
			CHECK_OR_FAIL(seen.calls == i + 1);
			CHECK_OR_FAIL(seen.address == page->get() + i);
		}
		return FINE;
	}));
}

TEST_F(FaultTest, AHandlerOfOneArgumentIsCalled)
{
	EXPECT_FINE(IN_CHILD(signal(SIGSEGV, leave), {
		if (!sigsetjmp(back, 1))
			read_byte(page->get());
		CHECK_OR_FAIL(seen.calls == 1);
		CHECK_OR_FAIL(seen.signal == SIGSEGV);
		return FINE;
	}));
}

TEST_F(FaultTest, AHandlerHasTheMaskItAskedFor)
{
	EXPECT_FINE(IN_CHILD(handle_by(SIGSEGV, see_and_repair, 0, {SIGUSR1}), {
		read_byte(page->get());
		CHECK_OR_FAIL(sigismember(&seen.mask, SIGSEGV));
		CHECK_OR_FAIL(sigismember(&seen.mask, SIGUSR1));
		CHECK_OR_FAIL(!sigismember(&seen.mask, SIGUSR2));
		return FINE;
	}));
}

TEST_F(FaultTest, AHandlerThatDoesNotDeferIsNotBlocked)
{
	EXPECT_FINE(IN_CHILD(handle_by(SIGSEGV, see_and_repair, SA_NODEFER), {
		read_byte(page->get());
		CHECK_OR_FAIL(!sigismember(&seen.mask, SIGSEGV));
		CHECK_OR_FAIL(!sigismember(&seen.mask, SIGUSR1));
		return FINE;
	}));
}

TEST_F(FaultTest, TheThreadsMaskIsAsBefore)
{
	EXPECT_FINE(IN_CHILD(handle_by(SIGSEGV, see_and_repair, 0, {SIGUSR1}), {
		sigset_t mask;

		sigemptyset(&mask);
		sigaddset(&mask, SIGHUP);
		pthread_sigmask(SIG_BLOCK, &mask, nullptr);
		read_byte(page->get());
		CHECK_OR_FAIL(sigismember(&seen.mask, SIGHUP));
		pthread_sigmask(SIG_BLOCK, nullptr, &mask);
		CHECK_OR_FAIL(sigismember(&mask, SIGHUP));
		CHECK_OR_FAIL(!sigismember(&mask, SIGUSR1));
		CHECK_OR_FAIL(!sigismember(&mask, SIGSEGV));
		return FINE;
	}));
}

void see_once(int signal, siginfo_t *info, void *context)
{
	if (seen.calls)
		_exit(WRONG);
	see_and_repair(signal, info, context);
}

TEST_F(FaultTest, AHandlerForOneFaultIsCalledOnce)
{
	EXPECT_KILLED(SIGSEGV, IN_CHILD(handle_by(SIGSEGV, see_once, SA_RESETHAND), {
			      const closed_memory second(4096);

			      read_byte(page->get());
			      CHECK_OR_FAIL(seen.calls == 1);
			      read_byte(second.get());
			      return FINE;
		      }));
}

TEST_F(FaultTest, InstallingTwiceChangesNothing)
{
	EXPECT_FINE(IN_CHILD(handle_by(SIGSEGV, see_and_repair), {
		fault_install();
		read_byte(page->get());
		CHECK_OR_FAIL(seen.calls == 1);
		CHECK_OR_FAIL(fault_installed());
		return FINE;
	}));
}

TEST_F(FaultTest, AFixedUpFaultIsNotPassedOn)
{
#if !defined(__x86_64__) && !defined(__aarch64__)
	GTEST_SKIP() << "no fix-ups on this machine";
#endif
	EXPECT_FINE(IN_CHILD(handle_by(SIGSEGV, see_and_leave), {
		struct slab_cache *cache = slab_cache_create("fault", 64, nullptr, 0);
		report_capture reports;

		slab_free(cache, address(8));
		CHECK_OR_FAIL(reports.count() == 1);
		CHECK_OR_FAIL(seen.calls == 0);
		return FINE;
	}));
}

/* A mapped address behind the end of a file, where reads are bus errors. */
char *behind_mapped_file()
{
	const std::size_t bytes = os_page_size();
	char *file = mapped_file(bytes);

	return static_cast<char *>(mremap(file, bytes, 3 * bytes, MREMAP_MAYMOVE)) + 2 * bytes;
}

TEST_F(FaultTest, ABusErrorIsPassedOn)
{
	EXPECT_FINE(IN_CHILD(handle_by(SIGBUS, see_and_leave), {
		char *behind = behind_mapped_file();

		if (!sigsetjmp(back, 1))
			read_byte(behind);
		CHECK_OR_FAIL(seen.calls == 1);
		CHECK_OR_FAIL(seen.signal == SIGBUS);
		CHECK_OR_FAIL(seen.address == behind);
		return FINE;
	}));
}

/* --- no handler --------------------------------------------------------------------- */

/* It cannot be ignored. */
TEST_F(FaultTest, WithoutAHandlerTheProcessDies)
{
	for (auto action : {SIG_DFL, SIG_IGN})
		EXPECT_KILLED(SIGSEGV, IN_CHILD(signal(SIGSEGV, action), {
				      read_byte(page->get());
				      return FINE;
			      }));
}

TEST_F(FaultTest, ABusErrorKills)
{
	EXPECT_KILLED(SIGBUS, IN_CHILD(signal(SIGBUS, SIG_DFL), {
			      read_byte(behind_mapped_file());
			      return FINE;
		      }));
}

TEST_F(FaultTest, ASignalThatWasSentIsIgnoredWhenItWas)
{
	EXPECT_FINE(IN_CHILD(signal(SIGSEGV, SIG_IGN), {
		for (int i = 0; i < 3; i++)
			kill(getpid(), SIGSEGV);
		return FINE;
	}));
}

TEST_F(FaultTest, ASignalThatWasSentKills)
{
	EXPECT_KILLED(SIGSEGV, IN_CHILD(signal(SIGSEGV, SIG_DFL), {
			      kill(getpid(), SIGSEGV);
			      return FINE;
		      }));
}

TEST_F(FaultTest, ASignalThatWasSentIsPassedOn)
{
	EXPECT_FINE(IN_CHILD(handle_by(SIGSEGV, see), {
		kill(getpid(), SIGSEGV);
		CHECK_OR_FAIL(seen.calls == 1);
		CHECK_OR_FAIL(seen.code == SI_USER);
		return FINE;
	}));
}

} /* namespace */
