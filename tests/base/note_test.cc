/* SPDX-License-Identifier: MIT */
/* Notes on stderr: one line each; the last one of a process that cannot go on. */
#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "../support/process.h"

extern "C" {
#include "base/note.h"
}

using namespace slab_test;

namespace
{

TEST(NoteTest, NotesAreOneLine)
{
	testing::internal::CaptureStderr();
	errno = 77;
	slab_note("%s=%d", "answer", 42);
	slab_note("%s", std::string(2000, 'x').c_str());
	EXPECT_EQ(errno, 77);
	const std::string text = testing::internal::GetCapturedStderr();

	EXPECT_EQ(text.compare(0, 28, "libslab: answer=42\nlibslab: "), 0);
	EXPECT_EQ(text.find('\n', 28), text.size() - 1);
}

TEST(NoteTest, FatalIsOneLineAndAbort)
{
	use_threadsafe_death_tests();
	EXPECT_DEATH(slab_fatal("no memory for %d bytes", 48), "libslab: no memory for 48 bytes\n");
}

} /* namespace */
