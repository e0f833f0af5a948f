/* SPDX-License-Identifier: MIT */
/*
 * The handler of SIGSEGV and SIGBUS: pointers to unmapped memory become reports,
 * and every other fault ends as it would have without libslab.
 *
 * The handler stays for the life of a process: each test has one of its own.
 */
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <slab/malloc.h>
#include <slab/slab.h>

#include "../support/faults.h"
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/reports.h"

extern "C" {
#include "debug/fault.h"
#include "pages/segment.h"
}

using namespace slab_test;

namespace
{

enum { FINE, WRONG };

constexpr std::size_t segment = SEGMENT_SIZE;

/* --- pointers that are not libslab's ------------------------------------------ */

/* A file in memory, mapped. */
char *mapped_file(std::size_t bytes)
{
	const int fd = memfd_create("fault-test", MFD_CLOEXEC);
	void *start;

	EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
	start = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	EXPECT_NE(start, MAP_FAILED);
	return static_cast<char *>(start);
}

/* Memory of a whole segment, aligned like one, all words of which are `word`. */
char *like_a_segment(std::uint64_t word)
{
	static std::vector<std::unique_ptr<closed_memory>> kept;

	kept.push_back(std::make_unique<closed_memory>(segment, segment));
	kept.back()->open();

	auto *words = reinterpret_cast<std::uint64_t *>(kept.back()->get());

	for (std::size_t i = 0; i < segment / 8; i++)
		words[i] = word;
	return kept.back()->get() + segment / 2;
}

/* The compiler would warn of a free of this, so it does not get to see it. */
void *address(std::uintptr_t number)
{
	void *volatile hidden = reinterpret_cast<void *>(number);

	return hidden;
}

/* The end of a page behind which there is nothing: a descriptor there is cut off. */
std::uint64_t edge_of_memory(std::size_t left)
{
	static closed_memory pages(2 * 4096);

	mprotect(pages.get(), 4096, PROT_READ | PROT_WRITE);
	return reinterpret_cast<std::uint64_t>(pages.get() + 4096 - left);
}

struct bad_pointer {
	const char *name;
	void *(*make)();
};

void PrintTo(const bad_pointer &pointer, std::ostream *stream)
{
	*stream << pointer.name;
}

const bad_pointer bad_pointers[] = {
	{"Malloc", [] { return std::malloc(100); }},
	{"LargeMalloc", [] { return std::malloc(std::size_t{64} << 20); }},
	{"Stack", []() -> void * { return __builtin_frame_address(0); }},
	{"Data", []() -> void * { return const_cast<bad_pointer *>(bad_pointers); }},
	{"Function", [] { return reinterpret_cast<void *>(&slab_free); }},
	{"Eight", [] { return address(8); }},
	{"MinusEight", [] { return address(static_cast<std::uintptr_t>(-8)); }},
	{"NotCanonical", [] { return address(UINT64_C(0x8000000000000000)); }},
	{"NotCanonicalPoison", [] { return address(UINT64_C(0x6b6b6b6b6b6b6b6b)); }},
	{"Kernel", [] { return address(UINT64_C(0xffff888000001000)); }},
	{"MappedFile", []() -> void * { return mapped_file(64 << 20) + (32 << 20) + 16; }},
	{"MappedFileEnd", []() -> void * { return mapped_file(8192) + 8191; }},
	{"TableOfZeros", []() -> void * { return like_a_segment(0); }},
	{"TableNotCanonical", []() -> void * { return like_a_segment(UINT64_C(0xa5) << 56); }},
	{"TableReadable",
	 []() -> void * { return like_a_segment(reinterpret_cast<std::uint64_t>(environ)); }},
	{"TableMisaligned", []() -> void * { return like_a_segment(edge_of_memory(129)); }},
	{"TableWithACutUser", []() -> void * { return like_a_segment(edge_of_memory(28)); }},
	{"TableWithACutSlab", []() -> void * { return like_a_segment(edge_of_memory(100)); }},
};

std::string name_of(const testing::TestParamInfo<bad_pointer> &info)
{
	return info.param.name;
}

/* No leaks are looked for here: what was taken stays until the child's end. */
class BadPointerTest : public testing::TestWithParam<bad_pointer>
{
protected:
	void SetUp() override
	{
#ifndef __x86_64__
		GTEST_SKIP() << "no fix-ups on this machine";
#endif
		if (under_tsan)
			GTEST_SKIP() << "ThreadSanitizer delays signals";
	}

	/* One report, and nothing else has happened. */
	static int free_reports(const std::function<void(struct slab_cache *, void *)> &free_it,
				const std::string &what)
	{
		struct slab_cache *cache = slab_cache_create("fault", 64, nullptr, SLAB_NO_MERGE);
		void *obj = slab_alloc(cache);
		report_capture reports;

		fault_install();
		errno = 77;
		free_it(cache, GetParam().make());
		if (reports.count() != 1 || !reports.contains(what) || errno != 77) {
			std::fprintf(stderr, "errno %d, %u reports:\n%s", errno, reports.count(),
				     reports.text().c_str());
			return WRONG;
		}
		slab_free(cache, obj);
		return slab_cache_destroy(cache) == 0 ? FINE : WRONG;
	}

	static void expect_fine(const child_end &end)
	{
		EXPECT_EQ(end.signal, 0);
		EXPECT_EQ(end.status, FINE) << end.output;
	}
};

TEST_P(BadPointerTest, FreeIsReported)
{
	expect_fine(end_of_child([] {
		return free_reports(
			[](struct slab_cache *cache, void *obj) { slab_free(cache, obj); },
			"BUG fault: Attempt to free object");
	}));
}

TEST_P(BadPointerTest, BulkFreeIsReported)
{
	expect_fine(end_of_child([] {
		return free_reports(
			[](struct slab_cache *cache, void *obj) {
				void *objs[3] = {slab_alloc(cache), obj, slab_alloc(cache)};

				slab_free_bulk(cache, 3, objs);
			},
			"BUG fault: Attempt to free object");
	}));
}

TEST_P(BadPointerTest, FreeBySizeIsReported)
{
	expect_fine(end_of_child([] {
		return free_reports([](struct slab_cache *, void *obj) { slab_mfree(obj); },
				    "not freed");
	}));
}

TEST_P(BadPointerTest, ReallocIsReported)
{
	expect_fine(end_of_child([] {
		return free_reports(
			[](struct slab_cache *, void *obj) {
				const int saved = errno;

				if (slab_realloc(obj, 100) || errno != EINVAL)
					_exit(WRONG);
				errno = saved;
			},
			"slab_malloc");
	}));
}

INSTANTIATE_TEST_SUITE_P(Fault, BadPointerTest, testing::ValuesIn(bad_pointers), name_of);

class FaultTest : public testing::Test
{
protected:
	void SetUp() override
	{
		if (under_tsan)
			GTEST_SKIP() << "ThreadSanitizer delays signals";
	}
};

TEST_F(FaultTest, WithoutTheHandlerABadPointerIsAFault)
{
	if (under_asan)
		GTEST_SKIP() << "the handler comes with the first cache";
	for (std::uintptr_t bad : {UINT64_C(8), UINT64_C(0x8000000000000000)}) {
		const child_end end = end_of_child([bad] {
			struct slab_cache *cache =
				slab_cache_create("fault", 64, nullptr, SLAB_NO_MERGE);

			slab_free(cache, address(bad));
			return FINE;
		});

		EXPECT_EQ(end.signal, SIGSEGV) << std::hex << bad;
		EXPECT_EQ(end.output, "");
	}
}

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
			return write(STDERR_FILENO, text, sizeof(text) - 1) ? WRONG : WRONG;       \
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

TEST_F(FaultTest, AFixedUpFaultIsNobodyElses)
{
#ifndef __x86_64__
	GTEST_SKIP() << "no fix-ups on this machine";
#endif
	EXPECT_FINE(IN_CHILD(handle_by(SIGSEGV, see_and_leave), {
		struct slab_cache *cache = slab_cache_create("fault", 64, nullptr, SLAB_NO_MERGE);
		report_capture reports;

		slab_free(cache, address(8));
		CHECK_OR_FAIL(reports.count() == 1);
		CHECK_OR_FAIL(seen.calls == 0);
		return FINE;
	}));
}

TEST_F(FaultTest, ABusErrorIsPassedOn)
{
	EXPECT_FINE(IN_CHILD(handle_by(SIGBUS, see_and_leave), {
		char *file = mapped_file(0x1000);

		file = static_cast<char *>(mremap(file, 0x1000, 0x3000, MREMAP_MAYMOVE));
		if (!sigsetjmp(back, 1))
			read_byte(file + 0x2000);
		CHECK_OR_FAIL(seen.calls == 1);
		CHECK_OR_FAIL(seen.signal == SIGBUS);
		CHECK_OR_FAIL(seen.address == file + 0x2000);
		return FINE;
	}));
}

/* --- no handler --------------------------------------------------------------------- */

TEST_F(FaultTest, WithoutAHandlerTheProcessDies)
{
	EXPECT_KILLED(SIGSEGV, IN_CHILD(signal(SIGSEGV, SIG_DFL), {
			      read_byte(page->get());
			      return FINE;
		      }));
}

TEST_F(FaultTest, ABusErrorKills)
{
	EXPECT_KILLED(SIGBUS, IN_CHILD(signal(SIGBUS, SIG_DFL), {
			      char *file = mapped_file(0x1000);

			      file = static_cast<char *>(
				      mremap(file, 0x1000, 0x3000, MREMAP_MAYMOVE));
			      read_byte(file + 0x2000);
			      return FINE;
		      }));
}

TEST_F(FaultTest, AFaultCannotBeIgnored)
{
	EXPECT_KILLED(SIGSEGV, IN_CHILD(signal(SIGSEGV, SIG_IGN), {
			      read_byte(page->get());
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
