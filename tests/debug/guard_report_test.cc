/* SPDX-License-Identifier: MIT */
/*
 * Sampled objects that are misused: accesses beyond them and after their free die with
 * a report, damage that no page catches is found when they are freed.
 *
 * Objects are made in the test and misused in a child of its own, which shares
 * their addresses.
 */
#include <csetjmp>

#include "../support/guarded.h"
#include "../support/reports.h"
#include "../support/symbolized.h"

namespace
{

/* --- accesses that fault --------------------------------------------------------- */

TEST_F(GuardTest, UseAfterFreeRead)
{
	char *obj = object_at(true);

	free(obj);
	const std::string report = report_of([obj] { read_byte(obj + 5); });

	EXPECT_EQ(report.find(heading("Use-after-free read") + "Read at " + text(obj + 5) +
			      ", 5 bytes into the 64-byte object " + text(obj) + "\nAllocated in "),
		  0U)
		<< report;
	EXPECT_TRUE(has_line(report, "Freed in ")) << report;
	EXPECT_TRUE(has_line(report, "Detected in ")) << report;
	EXPECT_EQ(count_of(report, "BUG "), 1U) << report;
}

TEST_F(GuardTest, UseAfterFreeWrite)
{
	char *obj = object_at(false);

	free(obj);
	const std::string report = report_of([obj] { write_byte(obj, 'x'); });

	EXPECT_EQ(report.find(heading("Use-after-free write") + "Write at " + text(obj) +
			      ", 0 bytes into the 64-byte object " + text(obj) + "\n"),
		  0U)
		<< report;
}

/* The store is its first instruction: the byte before is another function's. */
__attribute__((noinline)) void store_at_once(volatile char *at)
{
	*at = 1;
}

TEST_F(GuardTest, TheFunctionThatFaultsIsNamed)
{
	char *obj = object_at(false);

	free(obj);
	const std::string report = symbolized(report_of([obj] { store_at_once(obj); }));
	const std::size_t at = report.find("\nDetected in ");

	ASSERT_NE(at, std::string::npos) << report;
	EXPECT_NE(report.substr(at, report.find('\n', at + 1) - at).find("store_at_once"),
		  std::string::npos)
		<< report;
}

TEST_F(GuardTest, ReadBeyondTheEnd)
{
	char *obj = object_at(false);
	const std::string report = report_of([obj] { read_byte(obj + object_size); });

	EXPECT_EQ(report.find(heading("Out-of-bounds read") + "Read at " + text(obj + object_size) +
			      ", 0 bytes right of the 64-byte object " + text(obj) +
			      "\nAllocated in "),
		  0U)
		<< report;
	EXPECT_FALSE(has_line(report, "Freed in ")) << report;
	free(obj);
}

TEST_F(GuardTest, WriteBeyondTheEnd)
{
	char *obj = object_at(false);
	const std::string report = report_of([obj] { write_byte(obj + object_size + 1, 'x'); });

	EXPECT_EQ(report.find(heading("Out-of-bounds write") + "Write at " +
			      text(obj + object_size + 1) +
			      ", 1 byte right of the 64-byte object " + text(obj) + "\n"),
		  0U)
		<< report;
	free(obj);
}

TEST_F(GuardTest, AccessBeforeTheStart)
{
	char *obj = object_at(true);

	EXPECT_EQ(report_of([obj] { read_byte(obj - 1); })
			  .find(heading("Out-of-bounds read") + "Read at " + text(obj - 1) +
				", 1 byte left of the 64-byte object " + text(obj) + "\n"),
		  0U);
	EXPECT_EQ(report_of([obj] { write_byte(obj - 8, 'x'); })
			  .find(heading("Out-of-bounds write") + "Write at " + text(obj - 8) +
				", 8 bytes left of the 64-byte object " + text(obj) + "\n"),
		  0U);
	free(obj);
}

constexpr std::uintptr_t culprit_bytes = 128; /* of its code, at most */

/* Not inlined, for its name to be in the stack; it calls no function, for it to be the first. */
__attribute__((noinline)) void culprit(const char *obj)
{
	const volatile char *byte = obj;

	static_cast<void>(*byte);
	static_cast<void>(*byte);
}

void see_report(const struct slab_report *report, void *)
{
	const std::uintptr_t start = number(reinterpret_cast<void *>(culprit));
	const std::uintptr_t pc = number(report->detected.frame[0]);

	_exit(report->problem == SLAB_PROBLEM_USE_AFTER_FREE && report->object &&
			      report->object_size == object_size && report->allocated.frames &&
			      report->freed.frames && report->detected.tid == thread_id() &&
			      pc >= start && pc < start + culprit_bytes
		      ? FINE
		      : WRONG);
}

TEST_F(GuardTest, TheReportHandlerGetsTheReportOfTheFault)
{
	char *obj = object_at(true);

	free(obj);
	const child_end end = end_of_child([obj] {
		slab_set_report_handler(see_report, nullptr);
		culprit(obj);
		return WRONG;
	});

	EXPECT_EQ(end.signal, 0);
	EXPECT_EQ(end.status, FINE);
}

/* A report needs no more of the program's alternate stack than there is. */
TEST_F(GuardTest, ASmallAlternateStackIsEnough)
{
	char *obj = object_at(true);
	/* A frame of a signal, whose size depends on the CPU, and a page; instrumented frames are
	 * larger. */
	const std::size_t size =
		(static_cast<std::size_t>(sysconf(_SC_MINSIGSTKSZ)) + (under_asan ? 6 : 2) * page) &
		~(page - 1);

	free(obj);
	const child_end end = end_of_child([obj, size] {
		static closed_memory memory(size + 2 * page);
		stack_t stack = {};

		mprotect(memory.get() + page, size, PROT_READ | PROT_WRITE);
		stack.ss_sp = memory.get() + page;
		stack.ss_size = size;
		if (sigaltstack(&stack, nullptr) != 0)
			return WRONG;
		read_byte(obj);
		return WRONG;
	});

	EXPECT_EQ(end.signal, SIGSEGV);
	EXPECT_TRUE(has_line(end.output, "BUG ")) << end.output;
	EXPECT_TRUE(has_line(end.output, "Freed in ")) << end.output;
}

/* --- the program's own handler ----------------------------------------------------- */

/* In a process of its own, in which a handler stands before libslab's. */
class GuardHandlerTest : public GuardTest
{
protected:
	static void SetUpTestSuite()
	{
		struct sigaction action = {};

		if (!running_again())
			return;
		action.sa_sigaction = [](int, siginfo_t *info, void *) {
			on_fault(static_cast<char *>(info->si_addr));
		};
		action.sa_flags = SA_SIGINFO;
		sigaction(SIGSEGV, &action, nullptr);
	}

	static void (*on_fault)(char *address);
};

void (*GuardHandlerTest::on_fault)(char *address);
sigjmp_buf back;
char *seen;

TEST_F(GuardHandlerTest, IsCalledWithTheAddressAfterTheReport)
{
	if (!running_again()) {
		const second_run run = run_again({"SLAB_LOG="});

		EXPECT_EQ(run.failure, "") << run.output;
		EXPECT_EQ(count_of(run.output, ": Use-after-free write\n"), 3U) << run.output;
		return;
	}
	char *obj = object_at(true);

	free(obj);
	on_fault = [](char *address) {
		seen = address;
		siglongjmp(back, 1);
	};
	for (volatile int i = 0; i < 3; i++) {
		if (!sigsetjmp(back, 1))
			write_byte(obj + i, 'x');
		EXPECT_EQ(seen, obj + i);
	}
}

TEST_F(GuardHandlerTest, ReportsOfSeveralThreadsDoNotMix)
{
	constexpr unsigned threads = 4;

	if (!running_again()) {
		const second_run run = run_again({"SLAB_LOG="});
		const std::string end = "\n" + std::string(77, '=') + "\nBUG ";

		EXPECT_EQ(run.failure, "") << run.output;
		EXPECT_EQ(count_of(run.output, ": Use-after-free read\n"), threads) << run.output;
		EXPECT_EQ(count_of("\n" + run.output, end), threads) << run.output;
		EXPECT_EQ(count_of(run.output, "\nDetected in "), threads) << run.output;
		return;
	}
	static std::atomic<unsigned> left{threads};
	char *obj = object_at(true);

	free(obj);
	/* What they return to would fault again. */
	on_fault = [](char *) {
		if (--left == 0)
			_exit(FINE);
		for (;;)
			pause();
	};
	for (unsigned i = 0; i < threads; i++)
		std::thread([obj] { read_byte(obj); }).detach();
	for (;;)
		pause();
}

/* --- what no page catches ------------------------------------------------------------ */

TEST_F(GuardTest, DamageBeforeTheObjectIsFoundWhenItIsFreed)
{
	report_capture reports;
	char *obj = object_at(false), *left = object_at(true);

	obj[-1] = 1;
	left[0] = 1; /* its own */
	free(left);
	EXPECT_EQ(reports.count(), 0U) << reports.text();
	free(obj);
	EXPECT_EQ(reports.count(), 1U);
	EXPECT_EQ(reports.text().find(heading("Left Redzone overwritten")), 0U) << reports.text();
	EXPECT_TRUE(reports.contains("First byte 0x01 instead of 0xcc")) << reports.text();
	EXPECT_TRUE(reports.contains("FIX " + cache_.name() + ": Restoring Left Redzone " +
				     text(obj - 1) + "-" + text(obj - 1) + "=0xcc"))
		<< reports.text();
	EXPECT_EQ(stats_of(cache_).objects, 0U);
}

TEST_F(GuardTest, ObjectsStandAtTheEndWhereARedZoneWasDamaged)
{
	report_capture reports;
	std::vector<void *> objs;

	sample_every(cache_, 0);
	ASSERT_EQ(slab_cache_debug(cache_, SLAB_RED_ZONE), 0);
	char *obj = static_cast<char *>(slab_alloc(cache_));

	obj[-1] = 1;
	EXPECT_EQ(slab_cache_validate(cache_), 1);
	free(obj);
	sample_every(cache_, 1);
	for (int i = 0; i < 8; i++) {
		objs.push_back(slab_alloc(cache_));
		EXPECT_TRUE(is_guarded(objs.back()) && at_left_end(objs.back()));
	}
	free_many(cache_, objs);
}

TEST_F(GuardTest, ValidationFindsDamageOnce)
{
	report_capture reports;
	test_cache odd(100);

	sample_every(odd, 1);
	char *obj = static_cast<char *>(slab_alloc(odd));
	/* Its end is not its page's: alignment leaves four bytes. */
	char *end = obj + 100;

	while (at_left_end(obj)) {
		slab_free(odd, obj);
		obj = static_cast<char *>(slab_alloc(odd));
		end = obj + 100;
	}
	ASSERT_EQ(number(end) % page, page - 4);
	EXPECT_EQ(slab_cache_validate(odd), 0);
	end[2] = 5;
	obj[-9] = 6;
	EXPECT_EQ(slab_cache_validate(odd), 2) << reports.text();
	EXPECT_TRUE(reports.contains("Right Redzone overwritten")) << reports.text();
	EXPECT_TRUE(reports.contains("Left Redzone overwritten")) << reports.text();
	EXPECT_EQ(slab_cache_validate(odd), 0);
	EXPECT_EQ(reports.count(), 2U);
	slab_free(odd, obj);
	EXPECT_EQ(reports.count(), 2U);
}

/* --- frees that cannot be done ---------------------------------------------------------- */

TEST_F(GuardTest, DoubleFree)
{
	report_capture reports;
	char *volatile obj = object_at(true);

	free(obj);
	free(obj);
	EXPECT_EQ(reports.count(), 1U);
	EXPECT_EQ(reports.text().find(heading("Object already free") + "Allocated in "), 0U)
		<< reports.text();
	EXPECT_TRUE(reports.contains("\nFreed in ")) << reports.text();
	EXPECT_TRUE(reports.contains("\nDetected in ")) << reports.text();
	EXPECT_TRUE(reports.contains("FIX " + cache_.name() + ": Object at " + text(obj) +
				     " not freed"))
		<< reports.text();
	EXPECT_EQ(stats_of(cache_).objects, 0U);
}

TEST_F(GuardTest, PointerIntoAnObject)
{
	report_capture reports;
	char *obj = object_at(false);
	void *volatile inside = obj + 8;

	free(inside);
	EXPECT_EQ(reports.count(), 1U);
	EXPECT_TRUE(reports.contains("Invalid object pointer " + text(inside))) << reports.text();
	EXPECT_TRUE(reports.contains("It points 8 bytes from the start of an object"))
		<< reports.text();
	fill(obj, object_size, 7);
	EXPECT_TRUE(intact(obj, object_size, 7));
	EXPECT_EQ(stats_of(cache_).objects, 1U);
	free(obj);
	EXPECT_EQ(reports.count(), 1U);
}

TEST_F(GuardTest, ObjectOfAnotherCache)
{
	report_capture reports;
	test_cache wrong(object_size);
	void *volatile obj = object_at(false);

	slab_free(wrong, obj);
	EXPECT_EQ(reports.count(), 1U);
	EXPECT_TRUE(reports.contains("Wrong slab cache. " + wrong.name() + " but object is from " +
				     cache_.name()))
		<< reports.text();
	free(obj);
	EXPECT_EQ(reports.count(), 1U);
}

/*
 * The memory of sampled objects, once their slabs are free.
 */

/* A slab without memory leaves its units to slabs that need not be cleared. */
TEST_F(GuardTest, MemoryThatIsLockedIsNotTakenForMemoryThatWasReturned)
{
	if (under_asan || under_tsan)
		GTEST_SKIP() << "sanitizers keep mlock() from doing anything";

	static char *locked;
	static bool fails;
	struct slab_cache_args args = {};
	std::vector<char *> blocks;

	args.ctor = [](void *obj, void *) {
		locked = static_cast<char *>(obj) - number(obj) % page;
		std::memset(obj, 'x', object_size);
		return fails && mlock(locked, page) == 0 ? ENOMEM : 0;
	};
	test_cache cache(object_size, 0, &args);

	/* The object that is no sampled one because of the failure is there already. */
	void *other = slab_alloc(cache);
	slab_trim();
	sample_every(cache, 1);
	fails = true;
	void *obj = slab_alloc(cache);
	sample_every(cache, 0);
	ASSERT_FALSE(is_guarded(obj));
	for (int i = 0; i < 64; i++) {
		blocks.push_back(static_cast<char *>(large_calloc(guard_slab_bytes())));
		EXPECT_TRUE(all_bytes(blocks.back(), guard_slab_bytes(), 0));
	}
	for (char *block : blocks)
		slab_mfree(block);
	munlock(locked, page);
	slab_free(cache, obj);
	slab_free(cache, other);
}

/* The interval at which a cache's objects are sampled, set while other threads use the cache. */

/* slab_cache_sample() counts the sampled caches under flush_lock. Without it, two threads could
 * make the count wrong. */
TEST_F(GuardTest, AnIntervalIsSetUnderTheLockOfTheCache)
{
	test_cache cache(object_size);
	struct slab_cache *inside = cache;
	std::atomic<bool> is_set{false};

	pthread_mutex_lock(&inside->flush_lock);
	std::thread setting([&] {
		EXPECT_EQ(slab_cache_sample(cache, 1000000), 0);
		is_set = true;
	});
	while (!is_set && !other_threads_sleep()) /* it ends, or waits for the lock */
		std::this_thread::yield();
	EXPECT_FALSE(is_set);
	pthread_mutex_unlock(&inside->flush_lock);
	setting.join();
	EXPECT_EQ(slab_cache_sample(cache, 0), 0);
}

} /* namespace */
