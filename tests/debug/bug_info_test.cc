/* SPDX-License-Identifier: MIT */
/*
 * Findings: the text and the struct that are made of what a check saw, and where
 * that may be done.
 */
#include "bug_info_fixture.h"
#include "../support/process.h"

/* The linker puts it in the place of the library's: --wrap. */
extern "C" void __wrap_symbolize(unsigned n, const void *const *frames, char (*text)[SYMBOL_TEXT]);
void __wrap_symbolize(unsigned n, const void *const *frames, char (*text)[SYMBOL_TEXT])
{
	names::calls++;
	for (unsigned i = 0; i < n; i++) {
		const auto number = reinterpret_cast<std::uintptr_t>(frames[i]);

		std::snprintf(text[i], SYMBOL_TEXT, "f%lu+0x1c (f.c:%lu)", number, number);
		if (names::all_long) {
			std::memset(text[i], 'x', SYMBOL_TEXT - 1);
			text[i][SYMBOL_TEXT - 1] = '\0';
		}
	}
}

namespace
{

/* --- what there is not ----------------------------------------------------------- */

TEST_F(BugInfoTest, MayBeAboutNoSlab)
{
	bug_info_begin(&bug_, SLAB_PROBLEM_NOT_A_SLAB, "entry",
		       "Attempt to free object 0x%x outside of slab", 0x1230U);
	bug_info_slab(&bug_, &slab_none);
	bug_info_fix(&bug_, "Object at 0x%x not freed", 0x1230U);
	EXPECT_EQ(reported().text, heading("entry: Attempt to free object 0x1230 outside of slab") +
					   "FIX entry: Object at 0x1230 not freed\n");
	EXPECT_EQ(names::calls, 0U);
}

TEST_F(BugInfoTest, MayBeAboutASlabAsAWhole)
{
	lone_slab slab(entry_layout);

	slab.debug()->used = 3;
	slab.debug()->first = 2;
	bug_info_begin(&bug_, SLAB_PROBLEM_COUNT, "entry",
		       "Wrong object count. Counter is %d but counted were %d", 3, 512);
	bug_info_slab(&bug_, slab.get());
	bug_info_fix(&bug_, "Object count adjusted");
	EXPECT_EQ(text(slab),
		  heading("entry: Wrong object count. Counter is 3 but counted were 512") +
			  "Slab SLAB objects=512 used=3 fp=BASE+144 flags=FZPU\n"
			  "FIX entry: Object count adjusted\n");
}

TEST_F(BugInfoTest, OfAPlainSlabKnowsNoFreeObjects)
{
	lone_slab slab(entry_without_debug_flags);

	slab.get()->initialized = 10;
	slab.get()->free = 5;
	bug_info_begin(&bug_, SLAB_PROBLEM_INVALID_POINTER, "entry", "Invalid object pointer");
	bug_info_slab(&bug_, slab.get());
	EXPECT_EQ(text(slab), heading("entry: Invalid object pointer") +
				      "Slab SLAB objects=1024 used=5 flags=-\n");
}

TEST_F(BugInfoTest, OfAPlainObjectShowsItAndWhatIsBefore)
{
	lone_slab slab(entry_without_debug_flags);

	bug_info_begin(&bug_, SLAB_PROBLEM_DOUBLE_FREE, "entry", "Object already free");
	bug_info_slab(&bug_, slab.get());
	bug_info_object(&bug_, slab.get(), 2);
	EXPECT_EQ(text(slab), heading("entry: Object already free") +
				      "Slab SLAB objects=1024 used=1024 flags=-\n"
				      "Object BASE+128 @offset=128 size=64\n\n" +
				      line("Bytes b4", 112, POISON_INUSE) +
				      lines("Object  ", 128, POISON_INUSE, 4));
}

/* --- objects with debug flags ----------------------------------------------------------- */

TEST_F(BugInfoTest, OfAnObjectWithAllDebugFlagsIsComplete)
{
	lone_slab slab(entry_layout);
	char *at = slab.object(32) + 64;

	slab.debug()->first = 8;
	debug_record(slab.get(), 32)->next = 1;
	*debug_track(slab.get(), 32, TRACK_ALLOC) = track_of(4711, "worker-1", 3, 16);
	*debug_track(slab.get(), 32, TRACK_FREE) = track_of(4712, "worker-2", 1, 64);
	begin(slab, 32, at, RED_ACTIVE);
	bug_info_fix(&bug_, "Restoring %s %p-%p=0x%x", "Right Redzone",
		     reinterpret_cast<void *>(0x1000), reinterpret_cast<void *>(0x1000),
		     RED_ACTIVE);
	EXPECT_EQ(text(slab),
		  heading("entry: Right Redzone overwritten") +
			  "BASE+4176-BASE+4176 @offset=4176. First byte 0x12 instead of 0xcc\n"
			  "Allocated in f16+0x1c (f.c:16) age=N ms cpu=1 tid=4711 (worker-1)\n"
			  "\tf16+0x1c (f.c:16)\n"
			  "\tf32+0x1c (f.c:32)\n"
			  "\tf48+0x1c (f.c:48)\n"
			  "Freed in f64+0x1c (f.c:64) age=N ms cpu=1 tid=4712 (worker-2)\n"
			  "\tf64+0x1c (f.c:64)\n"
			  "Slab SLAB objects=512 used=512 fp=BASE+912 flags=FZPU\n"
			  "Object BASE+4112 @offset=4112 fp=BASE+16 size=64\n\n" +
			  line("Redzone ", 4096, RED_ACTIVE) +
			  lines("Object  ", 4112, POISON_FREE, 3) + last_line(4160) +
			  "Redzone  BASE+4176: 12 cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc  "
			  "|................|\n" +
			  lines("Padding ", 4192, POISON_INUSE, 2) +
			  "FIX entry: Restoring Right Redzone 0x1000-0x1000=0xcc\n");
	EXPECT_EQ(names::calls, 1U);
}

TEST_F(BugInfoTest, FillsTheHandlersStruct)
{
	lone_slab slab(entry_layout);
	char *at = slab.object(32) + 64;

	slab.debug()->used = 7;
	debug_record(slab.get(), 32)->requested = 40;
	*debug_track(slab.get(), 32, TRACK_ALLOC) = track_of(4711, "worker-1", 16, 16);
	begin(slab, 32, at, RED_ACTIVE);
	bug_info_fix(&bug_, "one");
	bug_info_fix(&bug_, "two");
	const caught_report report = reported();
	const struct slab_report &info = report.info;

	EXPECT_EQ(info.struct_size, sizeof(struct slab_report));
	EXPECT_EQ(info.problem, SLAB_PROBLEM_RIGHT_REDZONE);
	EXPECT_EQ(report.cache, "entry");
	EXPECT_EQ(report.reason, "Right Redzone overwritten");
	EXPECT_EQ(info.object, slab.object(32));
	EXPECT_EQ(info.object_size, 40U);
	EXPECT_EQ(info.offset, 4112U);
	EXPECT_EQ(info.first, at);
	EXPECT_EQ(info.last, at);
	EXPECT_EQ(info.found, 0x12);
	EXPECT_EQ(info.expected, RED_ACTIVE);
	EXPECT_EQ(info.debug_flags, fzpu);
	EXPECT_EQ(info.objects, 512U);
	EXPECT_EQ(info.used, 7U);
	EXPECT_EQ(info.fixes, 2U);
	EXPECT_EQ(info.leaked, 0U);
	EXPECT_EQ(info.allocated.tid, 4711);
	EXPECT_EQ(info.allocated.cpu, 1);
	EXPECT_GE(info.allocated.age_ms, 1234U);
	EXPECT_LT(info.allocated.age_ms, 100000U);
	EXPECT_STREQ(info.allocated.thread, "worker-1");
	ASSERT_EQ(info.allocated.frames, 16U);
	EXPECT_EQ(info.allocated.frame[15], reinterpret_cast<void *>(16 + 15 * 16));
	EXPECT_EQ(info.freed.tid, 0);
	EXPECT_EQ(info.detected.tid, 0);
}

TEST_F(BugInfoTest, ShowsNoStacksWithoutU)
{
	lone_slab slab({SLAB_RED_ZONE | SLAB_POISON, 64, 16, 80, 128});

	begin(slab, 0, slab.object(0) + 64, RED_ACTIVE);
	const std::string report = text(slab);

	EXPECT_EQ(report.find("Allocated"), std::string::npos);
	EXPECT_EQ(report.find("trace missing"), std::string::npos);
	EXPECT_NE(report.find("flags=ZP\n"), std::string::npos);
}

TEST_F(BugInfoTest, MissesTheStackOfAnAllocationWithU)
{
	lone_slab slab(entry_layout);

	begin(slab, 0, slab.object(0) + 64, RED_ACTIVE);
	EXPECT_NE(text(slab).find("instead of 0xcc\nobject allocation stack trace missing\nSlab "),
		  std::string::npos);
}

TEST_F(BugInfoTest, KnowsTheThreadWhenThereIsNoStack)
{
	lone_slab slab(entry_layout);

	*debug_track(slab.get(), 0, TRACK_ALLOC) = track_of(4711, "worker-1", 0, 0);
	begin(slab, 0, slab.object(0) + 64, RED_ACTIVE);
	EXPECT_NE(text(slab).find("Allocated in unknown age=N ms cpu=1 tid=4711 (worker-1)\nSlab "),
		  std::string::npos);
}

TEST_F(BugInfoTest, ShowsTheThreadThatFoundIt)
{
	bug_info_begin(&bug_, SLAB_PROBLEM_DOUBLE_FREE, "entry", "Object already free");
	bug_info_detected(&bug_, nullptr);
	EXPECT_EQ(bug_.detected.tid, static_cast<unsigned>(thread_id()));
	bug_.detected = track_of(4711, "worker-1", 7, 16);
	const caught_report report = reported();

	EXPECT_EQ(report.text, heading("entry: Object already free") +
				       "Detected in f16+0x1c (f.c:16) cpu=1 tid=4711 (worker-1)\n"
				       "\tf16+0x1c (f.c:16)\n"
				       "\tf32+0x1c (f.c:32)\n"
				       "\tf48+0x1c (f.c:48)\n"
				       "\tf64+0x1c (f.c:64)\n"
				       "\tf80+0x1c (f.c:80)\n"
				       "\tf96+0x1c (f.c:96)\n"
				       "\t... 1 more\n");
	EXPECT_EQ(report.info.detected.tid, 4711);
	EXPECT_EQ(report.info.detected.frames, 7U);
}

TEST_F(BugInfoTest, ShowsHowManyBytesWereRequested)
{
	lone_slab slab(entry_layout);

	debug_record(slab.get(), 1)->requested = 18;
	begin(slab, 1, slab.object(1) + 18, RED_ACTIVE);
	EXPECT_NE(text(slab).find("fp=NULL size=64 requested=18\n"), std::string::npos);
}

TEST_F(BugInfoTest, CarriesANoteAndTwoFixes)
{
	bug_info_begin(&bug_, SLAB_PROBLEM_FREELIST, "entry", "Freechain corrupt");
	bug_info_note(&bug_, "%s %d", "the list leads to", 7);
	bug_info_fix(&bug_, "Isolate corrupted freechain");
	bug_info_fix(&bug_, "Marking all objects used");
	bug_info_fix(&bug_, "dropped");
	EXPECT_EQ(reported().text, heading("entry: Freechain corrupt") +
					   "the list leads to 7\n"
					   "FIX entry: Isolate corrupted freechain\n"
					   "FIX entry: Marking all objects used\n");
}

TEST_F(BugInfoTest, TheLastObjectOfASlabMayBeTheFirstFreeOne)
{
	lone_slab slab(entry_layout);

	slab.debug()->first = 512;
	begin(slab, 0, slab.object(0), POISON_FREE);
	EXPECT_NE(text(slab).find("used=512 fp=BASE+65424 flags"), std::string::npos) << text(slab);
}

TEST_F(BugInfoTest, IgnoresAFreelistThatLeadsNowhere)
{
	lone_slab slab(entry_layout);

	slab.debug()->first = 513;
	debug_record(slab.get(), 0)->next = 0xffff;
	begin(slab, 0, slab.object(0), POISON_FREE);
	bug_info_object(&bug_, slab.get(), 512);
	const std::string report = text(slab);

	EXPECT_NE(report.find("used=512 fp=NULL flags"), std::string::npos);
	EXPECT_NE(report.find("@offset=16 fp=NULL size"), std::string::npos);
}

/* --- where it may be called ---------------------------------------------------------------- */

TEST_F(BugInfoTest, LeavesErrnoAlone)
{
	lone_slab slab(entry_layout);

	errno = 77;
	begin(slab, 0, slab.object(0) + 64, RED_ACTIVE);
	bug_info_detected(&bug_, nullptr);
	EXPECT_EQ(errno, 77);
	errno = 77;
	reported();
	EXPECT_EQ(errno, 77);
}

lone_slab *signal_slab;

void report_in_handler(int)
{
	struct bug_info bug;

	bug_info_begin(&bug, SLAB_PROBLEM_USE_AFTER_FREE, "entry", "Use after free");
	bug_info_slab(&bug, signal_slab->get());
	bug_info_object(&bug, signal_slab->get(), 0);
	bug_info_report(&bug);
}

/* A signal stack of `room` bytes besides what the kernel puts there. */
void on_a_small_stack(std::size_t room, void (*handler)(int))
{
	const std::size_t size = static_cast<std::size_t>(sysconf(_SC_MINSIGSTKSZ)) + room;
	const std::size_t mapped = (size + 2 * page - 1) / page * page;
	char *map = static_cast<char *>(
		mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	struct sigaction action = {};
	stack_t stack = {};

	mprotect(map, page, PROT_NONE);
	stack.ss_sp = map + mapped - size;
	stack.ss_size = size;
	sigaltstack(&stack, nullptr);
	action.sa_handler = handler;
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, nullptr);
	raise(SIGUSR1);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, nullptr);
	munmap(map, mapped);
}

TEST_F(BugInfoTest, IsReportedOnASmallSignalStack)
{
	if (under_asan || under_tsan)
		GTEST_SKIP() << "sanitizers need larger stacks";
	if (running_again()) {
		lone_slab slab(entry_layout);

		signal_slab = &slab;
		on_a_small_stack(6144, report_in_handler);
		signal_slab = nullptr;
		return;
	}
	const second_run run = run_again({"SLAB_LOG="});

	EXPECT_EQ(run.failure, "");
	EXPECT_NE(run.output.find("BUG entry: Use after free\n"), std::string::npos);
	EXPECT_NE(run.output.find("\nPadding  0x"), std::string::npos);
}

} /* namespace */
