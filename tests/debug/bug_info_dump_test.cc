/* SPDX-License-Identifier: MIT */
/*
 * Findings: which bytes of a slab a report shows, and that it is one screen and
 * one write whatever there would be to report.
 */
#include "bug_info_fixture.h"

namespace
{

constexpr unsigned screen_lines = 45;

/* --- which bytes are shown ------------------------------------------------------------ */

TEST_F(BugInfoTest, ShowsTheLastBytesOfALongLeftRedZone)
{
	lone_slab slab({fzpu, 64, 64, 80, 192});

	begin(slab, 1, slab.object(1) + 64, RED_ACTIVE);
	EXPECT_NE(text(slab).find("\n\n" + line("Redzone ", 240, RED_ACTIVE) + "Object "),
		  std::string::npos);
}

TEST_F(BugInfoTest, ShowsTheDamageInALongLeftRedZone)
{
	lone_slab slab({fzpu, 64, 64, 80, 192});

	begin(slab, 1, slab.object(1) - 64 + 17, RED_ACTIVE);
	EXPECT_NE(text(slab).find("\n\nRedzone  BASE+208: cc 12 cc cc cc cc cc cc cc cc cc cc cc "
				  "cc cc cc  |................|\nObject   BASE+256: "),
		  std::string::npos);
}

TEST_F(BugInfoTest, ShowsAShortLeftRedZoneAlone)
{
	lone_slab slab({fzpu, 64, 8, 72, 80});

	begin(slab, 1, slab.object(1) - 8, RED_ACTIVE);
	EXPECT_NE(text(slab).find("\n\nRedzone  BASE+80: 12 cc cc cc cc cc cc cc " +
				  std::string(24, ' ') + " |........|\nObject   BASE+88: "),
		  std::string::npos);
}

TEST_F(BugInfoTest, StaysInsideAtTheSlabsStart)
{
	lone_slab slab({SLAB_POISON, 64, 0, 64, 64});

	begin(slab, 0, slab.object(0), POISON_FREE);
	EXPECT_NE(text(slab).find("\n\nObject   BASE+0: 12 6b "), std::string::npos);
	begin(slab, 1, slab.object(1), POISON_FREE);
	EXPECT_NE(text(slab).find("\n\nBytes b4 BASE+48: 6b 6b "), std::string::npos);
}

TEST_F(BugInfoTest, StaysInsideAtTheSlabsEnd)
{
	lone_slab slab(entry_layout);
	char *last = slab.base() + lone_slab_size - 1;

	begin(slab, slab.objects() - 1, last, POISON_INUSE);
	const std::string report = text(slab);

	EXPECT_NE(report.find("BASE+65535-BASE+65535 @offset=65535. First byte 0x12"),
		  std::string::npos);
	EXPECT_EQ(after(report, "Padding  ").size(), 2U);
	EXPECT_EQ(report.substr(report.size() - 26), "5a 12  |ZZZZZZZZZZZZZZZ.|\n");
}

TEST_F(BugInfoTest, ShowsDamageBehindTheLastObject)
{
	lone_slab slab({fzpu, 64, 16, 80, 2500});
	char *last = slab.base() + lone_slab_size - 1;

	begin(SLAB_PROBLEM_SLAB_PADDING, "Padding");
	damage(last, POISON_INUSE);
	bug_info_slab(&bug_, slab.get());
	const std::string report = text(slab);

	EXPECT_EQ(report, heading("entry: Padding overwritten") +
				  "BASE+65535-BASE+65535 @offset=65535. First byte 0x12 instead of "
				  "0x5a\n"
				  "Slab SLAB objects=26 used=26 fp=NULL flags=FZPU\n" +
				  report.substr(report.find("Padding  ")));
	EXPECT_NE(report.find("5a 5a 12 "), std::string::npos);
	EXPECT_EQ(after(report, "Padding  BASE+").size(), 2U);
}

constexpr layout huge_layout = {fzpu, 32768, 16, 32784, 32832};

TEST_F(BugInfoTest, ShowsTheStartOfAHugeObject)
{
	lone_slab slab(huge_layout);

	begin(slab, 0, slab.object(0) + 32768, RED_ACTIVE);
	EXPECT_NE(text(slab).find(lines("Object  ", 16, POISON_FREE, 8) +
				  "Object   ... 32640 bytes more\nRedzone  BASE+32784: 12 "),
		  std::string::npos);
}

TEST_F(BugInfoTest, ShowsTheDamageInAHugeObject)
{
	lone_slab slab(huge_layout);

	begin(slab, 0, slab.object(0) + 16000, POISON_FREE);
	const std::string report = text(slab);

	EXPECT_NE(report.find("\n" + lines("Object  ", 15984, POISON_FREE, 2) +
			      "Object   BASE+16016: 12 6b "),
		  std::string::npos);
	EXPECT_EQ(after(report, "Object   BASE+").size(), 8U);
	EXPECT_NE(report.find("Object   ... 32640 bytes more\n"), std::string::npos);
}

TEST_F(BugInfoTest, ShowsDamageAtTheEndOfAHugeObject)
{
	lone_slab slab(huge_layout);

	begin(slab, 0, slab.object(0) + 32767, POISON_END);
	const std::string report = text(slab);

	EXPECT_NE(report.find("\n" + lines("Object  ", 32656, POISON_FREE, 7) +
			      "Object   BASE+32768: 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b "
			      "12  |kkkkkkkkkkkkkkk.|\nObject   ... 32640 bytes more\n"),
		  std::string::npos);
}

TEST_F(BugInfoTest, ShowsEveryDamagedByteOfAnObject)
{
	lone_slab slab({fzpu, 1001, 16, 1016, 1040});

	for (unsigned at = 0; at < 1001; at++) {
		char *byte = slab.object(3) + at;
		const char before = *byte;

		begin(slab, 3, byte, POISON_FREE);
		const struct dump &body = bug_.body;

		ASSERT_GE(body.start, slab.object(3));
		ASSERT_LE(body.start + body.len, slab.object(3) + 1001);
		ASSERT_LE(body.start, byte) << at;
		ASSERT_GT(body.start + body.len, byte) << at;
		ASSERT_GT(body.len, 112U);
		ASSERT_EQ(body.more, 1001 - body.len);
		ASSERT_EQ(bug_.bytes_body[byte - body.start], 0x12);
		*byte = before;
	}
}

TEST_F(BugInfoTest, ShowsATinyObject)
{
	lone_slab slab({fzpu, 1, 8, 16, 24});

	begin(slab, 1, slab.object(1), POISON_FREE);
	EXPECT_NE(text(slab).find("Object BASE+32 @offset=32 fp=NULL size=1\n\n"
				  "Redzone  BASE+24: cc cc cc cc cc cc cc cc " +
				  std::string(24, ' ') +
				  " |........|\n"
				  "Object   BASE+32: 12 " +
				  std::string(45, ' ') +
				  " |.|\n"
				  "Redzone  BASE+33: cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc "
				  "    |...............|\n"),
		  std::string::npos);
}

TEST_F(BugInfoTest, ShowsTextAsSuch)
{
	lone_slab slab(entry_layout);

	std::memcpy(slab.object(0), "cn=\x1f ~\x7f\x80\xff", 9);
	begin(slab, 0, slab.object(0) + 64, RED_ACTIVE);
	EXPECT_NE(text(slab).find("63 6e 3d 1f 20 7e 7f 80 ff 6b 6b 6b 6b 6b 6b 6b  "
				  "|cn=. ~...kkkkkkk|"),
		  std::string::npos);
}

TEST_F(BugInfoTest, LeavesOutWhatCannotBeRead)
{
	const auto bytes = static_cast<unsigned>(page);

	if (16 * page > lone_slab_size)
		GTEST_SKIP() << "the slab has too few pages";
	lone_slab slab({SLAB_STORE_USER, 4090, bytes, 4090, 16 * bytes});

	slab.debug()->guarded = 1;
	mprotect(slab.base(), page, PROT_NONE);
	mprotect(slab.base() + 2 * page, page, PROT_NONE);
	bug_info_begin(&bug_, SLAB_PROBLEM_OUT_OF_BOUNDS, "entry", "Out-of-bounds read");
	bug_info_slab(&bug_, slab.get());
	bug_info_object(&bug_, slab.get(), 0);
	std::string report = text(slab);

	EXPECT_EQ(after(report, "Object   BASE+").size(), 8U);
	EXPECT_EQ(after(report, "Redzone  "),
		  std::vector<std::string>(
			  {"BASE+8186: 5a 5a 5a 5a 5a 5a " + std::string(30, ' ') + " |ZZZZZZ|"}));
	EXPECT_EQ(after(report, "Padding  ").size(), 0U);
	mprotect(slab.base() + page, page, PROT_NONE);
	bug_info_object(&bug_, slab.get(), 0);
	report = text(slab);
	EXPECT_EQ(after(report, "Object   ").size(), 0U);
	EXPECT_EQ(after(report, "Redzone  ").size(), 0U);
	EXPECT_NE(report.find("Object BASE+4096 @offset=4096 "), std::string::npos);
}

TEST_F(BugInfoTest, ShowsDamageFarFromAGuardedObject)
{
	const auto bytes = static_cast<unsigned>(page);

	if (16 * page > lone_slab_size)
		GTEST_SKIP() << "the slab has too few pages";
	lone_slab slab({SLAB_STORE_USER, 64, 3 * bytes, 64, 16 * bytes});

	slab.debug()->guarded = 1;
	begin(slab, 0, slab.object(0) - page, POISON_INUSE);
	EXPECT_EQ(after(text(slab), "Redzone  BASE+").front().substr(0, 12), "8192: 12 5a ");
	begin(slab, 0, slab.object(0) + 1000, POISON_INUSE);
	EXPECT_NE(text(slab).find("5a 5a 5a 5a 5a 5a 5a 5a 12 5a "), std::string::npos);
}

/* --- one screen, one write --------------------------------------------------------------- */

unsigned count_lines(const std::string &text)
{
	return static_cast<unsigned>(std::count(text.begin(), text.end(), '\n'));
}

class FullBugInfoTest : public BugInfoTest
{
protected:
	/* As long as a report can get. */
	FullBugInfoTest() : slab_({fzpu, 32768, 64, 32832, 65536})
	{
		const std::string words(200, 'w');

		*debug_track(slab_.get(), 0, TRACK_ALLOC) =
			track_of(4711, "worker-with-15c", 16, 16);
		*debug_track(slab_.get(), 0, TRACK_FREE) =
			track_of(4712, "worker-with-15d", 16, 16);
		bug_info_begin(&bug_, SLAB_PROBLEM_POISON, name_.c_str(), "%s", words.c_str());
		damage(slab_.object(0), POISON_FREE);
		bug_info_slab(&bug_, slab_.get());
		bug_info_object(&bug_, slab_.get(), 0);
		bug_.detected = track_of(4713, "worker-with-15e", 16, 16);
		bug_info_note(&bug_, "%s", words.c_str());
		bug_info_fix(&bug_, "first%s", words.c_str());
		bug_info_fix(&bug_, "second%s", words.c_str());
	}

	const std::string name_ = std::string(SLAB_MAX_NAME, 'n');
	lone_slab slab_;
};

TEST_F(FullBugInfoTest, IsOneScreen)
{
	const caught_report report = reported();

	EXPECT_LE(count_lines(report.text), screen_lines);
	EXPECT_GE(count_lines(report.text), screen_lines - 3);
	EXPECT_EQ(after(report.text, "\tf").size(), 12U);
	EXPECT_EQ(after(report.text, "\t... "), std::vector<std::string>(3, "12 more"));
	EXPECT_EQ(lines_with(report.text, "FIX " + name_ + ": "), 2U);
	EXPECT_EQ(report.info.fixes, 2U);
}

TEST_F(FullBugInfoTest, IsOneWriteWithTheLongestNames)
{
	names::all_long = true;
	const caught_report report = reported();

	EXPECT_LT(report.text.size(), static_cast<std::size_t>(REPORT_MAX));
	EXPECT_LE(count_lines(report.text), screen_lines);
	EXPECT_EQ(lines_with(report.text, "Allocated in xxx"), 1U);
	EXPECT_EQ(lines_with(report.text, "Freed in xxx"), 1U);
	EXPECT_EQ(lines_with(report.text, "Detected in xxx"), 1U);
	EXPECT_EQ(after(report.text, "\t... ").size(), 3U);
	EXPECT_EQ(lines_with(report.text, "Redzone "), 4U);
	EXPECT_EQ(lines_with(report.text, "Object  "), 9U);
	EXPECT_EQ(lines_with(report.text, "Padding "), 3U);
	EXPECT_EQ(lines_with(report.text, "FIX " + name_ + ": first"), 1U);
	EXPECT_EQ(lines_with(report.text, "FIX " + name_ + ": second"), 1U);
	EXPECT_EQ(report.text.find("\n...\n"), std::string::npos);
	EXPECT_EQ(names::calls, 1U);
}

TEST_F(BugInfoTest, ShowsEightFramesOfAStack)
{
	lone_slab slab(entry_layout);

	*debug_track(slab.get(), 0, TRACK_ALLOC) = track_of(4711, "worker-1", 9, 16);
	begin(slab, 0, slab.object(0) + 64, RED_ACTIVE);
	const std::string report = text(slab);

	EXPECT_EQ(after(report, "\tf").size(), 8U);
	EXPECT_NE(report.find("\tf128+0x1c (f.c:128)\n\t... 1 more\nSlab"), std::string::npos);
}

} /* namespace */
