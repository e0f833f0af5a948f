/* SPDX-License-Identifier: MIT */
/*
 * Sampled objects: accesses beyond them and after their free die with a report,
 * damage that no page catches is found when they are freed, and whatever else a
 * cache promises holds for them as well.
 *
 * Objects are made in the test and misused in a child of its own, which shares
 * their addresses.
 */
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <slab/debug.h>
#include <slab/malloc.h>
#include <slab/slab.h>
#include <slab/stats.h>

#include "../support/faults.h"
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/reports.h"
#include "../support/whitebox.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
extern "C" {
#include "guard.h"
}
#pragma GCC diagnostic pop

using namespace slab_test;

namespace
{

constexpr std::size_t page = 4096;
constexpr std::size_t object_size = 64;
enum { FINE, WRONG };

void sample(struct slab_cache *cache, unsigned long interval)
{
	EXPECT_EQ(slab_cache_sample(cache, interval), 0);
}

bool is_guarded(const void *obj)
{
	const struct slab *slab = slab_of(obj);

	return slab->debug && slab->debug->guarded;
}

std::uintptr_t number(const void *address)
{
	return reinterpret_cast<std::uintptr_t>(address);
}

std::string text(const void *address)
{
	char buffer[32];

	std::snprintf(buffer, sizeof(buffer), "%p", address);
	return buffer;
}

bool at_left_end(const void *obj)
{
	return number(obj) % page == 0;
}

class GuardTest : public testing::Test
{
protected:
	GuardTest() : cache_(object_size)
	{
		sample(cache_, 1);
	}

	~GuardTest() override
	{
		sample(cache_, 0);
	}

	/* The compiler would warn of what comes after, so it does not get to see it. */
	void free(void *obj)
	{
		void *volatile hidden = obj;

		slab_free(cache_, hidden);
	}

	/* Has the fast path something to allocate from? */
	bool has_fast_path() const
	{
		const struct slab_cache *cache = cache_;

		return __atomic_load_n(&cache->slots, __ATOMIC_RELAXED) != cpu_slots_none();
	}

	/* A guarded object at one end of its page; the others are freed. */
	char *object_at(bool left)
	{
		std::vector<void *> others;
		char *obj;

		for (;;) {
			obj = static_cast<char *>(slab_alloc(cache_));
			EXPECT_TRUE(is_guarded(obj));
			if (at_left_end(obj) == left || others.size() > 100)
				break;
			others.push_back(obj);
		}
		free_many(cache_, others);
		EXPECT_EQ(at_left_end(obj), left);
		return obj;
	}

	/* The report that a child died with, which had made `access`. */
	template <typename Access> std::string report_of(Access access)
	{
		const child_end end = end_of_child([&] {
			access();
			return FINE;
		});

		EXPECT_EQ(end.signal, SIGSEGV) << end.output;
		return end.output;
	}

	std::string heading(const std::string &what) const
	{
		return std::string(77, '=') + "\nBUG " + cache_.name() + ": " + what + "\n" +
		       std::string(77, '-') + "\n\n";
	}

	test_cache cache_;
};

bool has_line(const std::string &report, const std::string &start)
{
	return report.find("\n" + start) != std::string::npos;
}

std::size_t count_of(const std::string &all, const std::string &what)
{
	std::size_t n = 0;

	for (std::size_t at = 0; (at = all.find(what, at)) != std::string::npos; at++)
		n++;
	return n;
}

/* --- accesses that fault --------------------------------------------------------- */

TEST_F(GuardTest, ReadAfterFree)
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

TEST_F(GuardTest, WriteAfterFree)
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
	const std::string report = report_of([obj] { store_at_once(obj); });
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

/* Not inlined, for its name to be in the stack. */
__attribute__((noinline)) void culprit(const char *obj)
{
	read_byte(obj);
	read_byte(obj);
}

void see_report(const struct slab_report *report, void *)
{
	const std::uintptr_t start = number(reinterpret_cast<void *>(culprit));
	const std::uintptr_t pc = number(report->detected.frame[0]);

	_exit(report->problem == SLAB_PROBLEM_USE_AFTER_FREE && report->object &&
			      report->object_size == object_size && report->allocated.frames &&
			      report->freed.frames && report->detected.tid == thread_id() &&
			      pc >= start && pc < start + 64
		      ? FINE
		      : WRONG);
}

TEST_F(GuardTest, TheHandlerOfReportsIsToldWhoItWas)
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

	free(obj);
	const child_end end = end_of_child([obj] {
		constexpr std::size_t size = 8192;
		static closed_memory memory(3 * page);
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

TEST_F(GuardTest, ValidationFindsDamageOnce)
{
	report_capture reports;
	test_cache odd(100);

	sample(odd, 1);
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

/* --- objects like all others --------------------------------------------------------------- */

TEST_F(GuardTest, ObjectsOfAnySizeAreWholeAndAligned)
{
	for (std::size_t size = 1; size <= SLAB_MAX_OBJECT_SIZE; size += size / 3 + 1)
		for (std::size_t align : {0u, 8u, 64u, 4096u}) {
			struct slab_cache_args args = {};

			args.align = align;
			test_cache cache(size, SLAB_NO_MERGE, &args);

			sample(cache, 1);
			for (int i = 0; i < 4; i++) {
				void *obj = slab_alloc(cache);

				ASSERT_TRUE(is_guarded(obj)) << size;
				EXPECT_TRUE(aligned(obj, align ? align : 8)) << size;
				fill(obj, size, size);
				EXPECT_TRUE(intact(obj, size, size));
				slab_free(cache, obj);
			}
		}
}

TEST_F(GuardTest, ObjectsBySizeEndWhereTheirCallersBytesEnd)
{
	struct slab_cache *cache;
	char *obj = static_cast<char *>(slab_malloc(1000));

	cache = slab_user(slab_of(obj));
	slab_mfree(obj);
	sample(cache, 1);
	for (std::size_t size : {961u, 970u, 1000u, 1024u}) {
		for (int i = 0; i < 8; i++) {
			obj = static_cast<char *>(slab_malloc(size));
			ASSERT_TRUE(is_guarded(obj)) << size;
			EXPECT_EQ(slab_usable_size(obj), size);
			std::memset(obj, 'x', size);
			obj = static_cast<char *>(slab_realloc(obj, size + 1000));
			EXPECT_TRUE(all_bytes(obj, size, 'x'));
			slab_mfree(obj);
		}
	}
	for (std::size_t align = 16; align <= 1024; align *= 2) {
		void *ptr = slab_memalign(align, 1000);

		EXPECT_TRUE(aligned(ptr, align));
		slab_mfree(ptr);
	}
	sample(cache, 0);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	guard_flush(cache);
}

unsigned constructed, destroyed;

TEST_F(GuardTest, ObjectsAreConstructedAndDestroyed)
{
	struct slab_cache_args args = {};

	args.ctor = [](void *obj, void *) {
		constructed++;
		return fill(obj, object_size, 42), 0;
	};
	args.dtor = [](void *obj, void *) { destroyed += intact(obj, object_size, 42); };
	constructed = destroyed = 0;
	test_cache cache(object_size, SLAB_NO_MERGE, &args);

	sample(cache, 1);
	for (unsigned i = 1; i <= 10; i++) {
		void *obj = slab_alloc(cache);

		EXPECT_TRUE(is_guarded(obj));
		EXPECT_TRUE(intact(obj, object_size, 42));
		EXPECT_EQ(constructed, i);
		slab_free(cache, obj);
		EXPECT_EQ(destroyed, i);
	}
}

TEST_F(GuardTest, AnObjectThatCannotBeConstructedIsNoObject)
{
	struct slab_cache_args args = {};

	args.ctor = [](void *, void *) { return 1; };
	test_cache cache(object_size, SLAB_NO_MERGE, &args);

	sample(cache, 1);
	errno = 0;
	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_LE(stats_of(cache).slabs, 1U); /* an ordinary one, without objects */
}

TEST_F(GuardTest, ZeroedObjectsAreZero)
{
	test_cache cache(object_size, SLAB_NO_MERGE | SLAB_ZERO);

	sample(cache, 1);
	for (int i = 0; i < 2000; i++) {
		void *obj = slab_alloc(cache);

		ASSERT_TRUE(all_bytes(obj, object_size, 0)) << i;
		std::memset(obj, 0xdd, object_size);
		slab_free(cache, obj);
	}
}

/* --- slabs of freed objects ------------------------------------------------------------------ */

TEST_F(GuardTest, WhenThereAreNoMoreTheRestAreOrdinary)
{
	std::vector<void *> objs = alloc_many(cache_, 2000);
	const auto guarded = std::count_if(objs.begin(), objs.end(), is_guarded);

	EXPECT_LE(guarded, static_cast<long>(GUARD_SLABS_MAX));
	EXPECT_GE(guarded, static_cast<long>(GUARD_SLABS_MAX) - 8); /* others' may wait */
	EXPECT_TRUE(all_distinct(objs));
	for (std::size_t i = 0; i < objs.size(); i++)
		fill(objs[i], object_size, i);
	for (std::size_t i = 0; i < objs.size(); i++)
		ASSERT_TRUE(intact(objs[i], object_size, i));
	EXPECT_EQ(stats_of(cache_).objects, 2000U);
	EXPECT_EQ(slab_cache_validate(cache_), 0);
	shuffle(objs);
	free_many(cache_, objs);
	EXPECT_EQ(stats_of(cache_).objects, 0U);
	EXPECT_EQ(slab_cache_validate(cache_), 0);
}

TEST_F(GuardTest, TheOldestIsUsedAgainWhenThereAreNoMore)
{
	std::vector<void *> objs = alloc_many(cache_, GUARD_SLABS_MAX + 100);
	std::vector<struct slab *> slabs;

	shuffle(objs);
	for (std::size_t i = 0; i < objs.size(); i++)
		if (is_guarded(objs[i]) && slabs.size() < 100) {
			slabs.push_back(slab_of(objs[i]));
			free(objs[i]);
			objs[i] = nullptr;
		}
	for (struct slab *slab : slabs) {
		objs.push_back(slab_alloc(cache_));
		ASSERT_EQ(slab_of(objs.back()), slab);
	}
	objs.push_back(slab_alloc(cache_));
	EXPECT_FALSE(is_guarded(objs.back()));
	free_many(cache_, objs);
}

TEST_F(GuardTest, AFreedObjectIsNotUsedAgainSoon)
{
	std::set<void *> slabs;

	for (unsigned i = 0; i < GUARD_SLABS_MAX / 2; i++) {
		void *obj = slab_alloc(cache_);

		EXPECT_TRUE(slabs.insert(slab_of(obj)).second) << i;
		free(obj);
	}
	for (unsigned i = 0; i < 2000; i++) {
		void *obj = slab_alloc(cache_);

		slabs.insert(slab_of(obj));
		free(obj);
	}
	EXPECT_LE(slabs.size(), GUARD_SLABS_MAX / 2 + 1);
}

TEST_F(GuardTest, OnlyThePagesOfObjectsHoldMemory)
{
	std::vector<void *> objs = alloc_many(cache_, 300);

	for (void *obj : objs)
		EXPECT_EQ(resident_pages(slab_of(obj)->cpu.base, 65536), 1U);
	free_many(cache_, objs);
}

TEST_F(GuardTest, SlabsGoBackWithTheirCache)
{
	struct slab *slab;
	{
		test_cache cache(object_size);

		sample(cache, 1);
		free_many(cache, alloc_many(cache, 100));
		slab = slab_of(slab_alloc(cache));
		slab_free(cache, debug_object_at(slab, 0));
		EXPECT_EQ(stats_of(cache).slabs, 101U);
	}
	EXPECT_EQ(slab_user(slab), nullptr);
	EXPECT_EQ(slab->populated, 0U);
	write_byte(slab->cpu.base, 'x');
	write_byte(slab->cpu.base + 65535, 'x');
	segment_trim(nullptr);
}

TEST_F(GuardTest, ALeakedObjectKeepsItsCache)
{
	report_capture reports;
	void *obj = slab_alloc(cache_);

	EXPECT_EQ(cache_.destroy(), -EBUSY);
	EXPECT_TRUE(reports.contains("Objects remaining in " + cache_.name())) << reports.text();
	EXPECT_TRUE(reports.contains(text(obj).substr(2))) << reports.text();
	free(obj);
}

/* --- which are taken ---------------------------------------------------------------------------- */

TEST_F(GuardTest, EveryNthIsTaken)
{
	for (unsigned long n : {2ul, 10ul, 1000ul}) {
		sample(cache_, n);
		for (unsigned long i = 1; i <= 3 * n; i++) {
			void *obj = slab_alloc(cache_);

			ASSERT_EQ(is_guarded(obj), i % n == 0) << i << " of " << n;
			free(obj);
		}
	}
}

TEST_F(GuardTest, SwitchedOffNothingIsTakenAndTheFastPathIsBack)
{
	if (under_asan)
		GTEST_SKIP() << "no cache has a fast path";
	void *guarded = slab_alloc(cache_);

	sample(cache_, 0);
	EXPECT_TRUE(has_fast_path());
	for (int i = 0; i < 5000; i++) {
		void *obj = slab_alloc(cache_);

		ASSERT_FALSE(is_guarded(obj));
		free(obj);
	}
	EXPECT_TRUE(is_guarded(guarded));
	free(guarded);
}

TEST_F(GuardTest, AboveThatFreshObjectsAreCounted)
{
	if (under_asan)
		GTEST_SKIP() << "no cache has a fast path";
	std::vector<void *> objs;
	long guarded = 0;

	sample(cache_, 2000);
	EXPECT_TRUE(has_fast_path());
	for (int i = 0; i < 20; i++) {
		const std::vector<void *> more = alloc_many(cache_, 4000);

		objs.insert(objs.end(), more.begin(), more.end());
		usleep(1100);
	}
	guarded = std::count_if(objs.begin(), objs.end(), is_guarded);
	EXPECT_GE(guarded, 10);
	EXPECT_LE(guarded, 41);
	free_many(cache_, objs);
}

TEST_F(GuardTest, AboveThatAThousandASecondAreTaken)
{
	if (under_asan)
		GTEST_SKIP() << "no cache has a fast path";
	using clock = std::chrono::steady_clock;
	const auto start = clock::now();
	std::vector<void *> objs;

	sample(cache_, 1001);
	objs = alloc_many(cache_, 300000);
	const auto ms =
		std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - start).count();

	EXPECT_GE(std::count_if(objs.begin(), objs.end(), is_guarded), 1);
	EXPECT_LE(std::count_if(objs.begin(), objs.end(), is_guarded), ms + 2);
	free_many(cache_, objs);
}

TEST_F(GuardTest, WithLettersEveryNthIsTakenAboveThatToo)
{
	constexpr unsigned long n = 2000;

	EXPECT_EQ(slab_cache_debug(cache_, SLAB_RED_ZONE), 0);
	sample(cache_, n);
	for (unsigned long i = 1; i <= 3 * n; i++) {
		void *obj = slab_alloc(cache_);

		sample_tick();
		ASSERT_EQ(is_guarded(obj), i % n == 0) << i;
		free(obj);
	}
	EXPECT_EQ(slab_cache_debug(cache_, 0), 0);
}

/* Objects that are handed out again at once: a tick lets one of them be seen. */
TEST_F(GuardTest, ATickFindsHotObjects)
{
	if (under_asan)
		GTEST_SKIP() << "no cache has a fast path";
	unsigned taken = 0, closed = 0;

	sample(cache_, 1001);
	slab_free(cache_, slab_alloc(cache_));
	EXPECT_TRUE(sample_wants_ticks());
	for (int tick = 0; tick < 50; tick++) {
		for (int i = 0; i < 10; i++) {
			void *obj = slab_alloc(cache_);

			taken += is_guarded(obj);
			free(obj);
		}
		closed += has_fast_path();
		usleep(1100);
		sample_tick();
		EXPECT_FALSE(has_fast_path());
	}
	/* At once: as if there were thousands in each tenth of a second. */
	EXPECT_GE(taken, 10U);
	EXPECT_GE(closed, 48U); /* the control thread's ticks come, too */
	sample(cache_, 0);
	EXPECT_FALSE(sample_wants_ticks());
}

TEST_F(GuardTest, ATickLeavesRareObjectsAlone)
{
	unsigned taken = 0;

	sample(cache_, 100000);
	slab_free(cache_, slab_alloc(cache_));
	for (int tick = 0; tick < 20; tick++) {
		sample_tick();
		usleep(5000);
		void *obj = slab_alloc(cache_);

		taken += is_guarded(obj);
		free(obj);
	}
	EXPECT_EQ(taken, 0U);
}

/* --- threads and forks --------------------------------------------------------------------------- */

TEST_F(GuardTest, ThreadsFreeEachOthersObjects)
{
	constexpr unsigned rounds = 200;
	std::vector<std::thread> threads;
	std::vector<std::atomic<void *>> places(64);
	std::atomic<unsigned> wrong{0};

	for (unsigned t = 0; t < 4; t++)
		threads.emplace_back([&, t] {
			for (unsigned i = 0; i < rounds * places.size(); i++) {
				void *obj = slab_alloc(cache_);

				fill(obj, object_size, number(obj));
				obj = places[(i * 7 + t) % places.size()].exchange(obj);
				if (!obj)
					continue;
				wrong += !intact(obj, object_size, number(obj));
				free(obj);
			}
		});
	threads.emplace_back([&] {
		for (unsigned i = 0; i < rounds; i++)
			wrong += slab_cache_validate(cache_) != 0;
	});
	for (std::thread &thread : threads)
		thread.join();
	for (auto &place : places)
		slab_free(cache_, place);
	EXPECT_EQ(wrong, 0U);
	EXPECT_EQ(stats_of(cache_).objects, 0U);
}

TEST_F(GuardTest, CachesComeAndGoWhileThereAreFewSlabs)
{
	std::vector<std::thread> threads;
	std::atomic<unsigned> wrong{0};
	std::vector<void *> objs = alloc_many(cache_, GUARD_SLABS_MAX - 16);

	for (unsigned t = 0; t < 3; t++)
		threads.emplace_back([&, t] {
			const std::string name = "comes-and-goes-" + std::to_string(t);

			for (int i = 0; i < 50; i++) {
				struct slab_cache *cache = slab_cache_create(
					name.c_str(), 200 * (t + 1), nullptr, SLAB_NO_MERGE);

				sample(cache, 1);
				for (int j = 0; j < 20; j++)
					slab_free(cache, slab_alloc(cache));
				wrong += slab_cache_destroy(cache) != 0;
			}
		});
	for (std::thread &thread : threads)
		thread.join();
	EXPECT_EQ(wrong, 0U);
	free_many(cache_, objs);
	EXPECT_EQ(slab_cache_validate(cache_), 0);
}

TEST_F(GuardTest, AChildHasItsOwn)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer ends children that start threads";
	std::vector<void *> objs = alloc_many(cache_, 50);

	for (std::size_t i = 0; i < objs.size(); i++)
		fill(objs[i], object_size, i);
	EXPECT_EQ(run_in_child([&] {
			  for (std::size_t i = 0; i < objs.size(); i++)
				  if (!intact(objs[i], object_size, i))
					  return WRONG;
			  free_many(cache_, objs);
			  void *obj = slab_alloc(cache_);
			  if (!is_guarded(obj))
				  return WRONG;
			  free(obj);
			  return slab_cache_validate(cache_) == 0 ? FINE : WRONG;
		  }),
		  "");
	for (std::size_t i = 0; i < objs.size(); i++)
		EXPECT_TRUE(intact(objs[i], object_size, i));
	free_many(cache_, objs);
}

TEST_F(GuardTest, AChildOfABusyProcessGoesOn)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer ends children that start threads";
	std::atomic<bool> stop{false};
	std::vector<std::thread> threads;

	for (int i = 0; i < 3; i++)
		threads.emplace_back([&] {
			while (!stop)
				slab_free(cache_, slab_alloc(cache_));
		});
	for (int i = 0; i < 100 && !HasFailure(); i++)
		EXPECT_EQ(run_in_child([&] {
				  for (int j = 0; j < 10; j++)
					  slab_free(cache_, slab_alloc(cache_));
				  return FINE;
			  }),
			  "")
			<< i;
	stop = true;
	for (std::thread &thread : threads)
		thread.join();
}

} /* namespace */
