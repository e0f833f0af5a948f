/* SPDX-License-Identifier: MIT */
/* What the C library tells about its heap. */
#include "preloaded.h"

#include "../support/cancelled.h"
#include "../support/process.h"
#include "../support/stack_depth.h"

namespace
{

std::size_t mallinfo_in_use()
{
	return static_cast<std::size_t>(find_function<struct mallinfo()>("mallinfo")().uordblks);
}

TEST(MallocInfo, CountsWhatIsInUse)
{
	const std::size_t count = 20000, size = 512;
	std::vector<void *> blocks(count);
	const struct mallinfo2 before = mallinfo2();
	struct mallinfo2 full;

	for (void *&block : blocks)
		block = malloc(size);
	full = mallinfo2();
	/* What is free in a slab counts as in use, before as well. */
	EXPECT_GE(full.uordblks, count * size);
	EXPECT_GE(full.arena + full.hblkhd, full.uordblks);
	EXPECT_GE(mallinfo_in_use(), count * size);
	for (void *block : blocks)
		free(block);
	EXPECT_LT(mallinfo2().uordblks, before.uordblks + count * size / 2);
}

TEST(MallocInfo, TrimReturnsWhatIsFree)
{
	std::vector<void *> blocks(20000);

	for (void *&block : blocks)
		block = calloc(1, 1000);
	for (void *block : blocks)
		free(block);
	EXPECT_EQ(malloc_trim(0), 1);
}

TEST(MallocInfo, MalloptAcceptsEverything)
{
	for (const int parameter : {M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_ARENA_MAX, M_PERTURB, 0})
		EXPECT_EQ(mallopt(parameter, 1), 1);
}

TEST(MallocInfo, IsXml)
{
	char *text = nullptr;
	std::size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	std::string xml;

	EXPECT_EQ(malloc_info(0, file), 0);
	fclose(file);
	xml = text;
	free(text);
	EXPECT_EQ(xml.rfind("<malloc version=", 0), 0U) << xml;
	EXPECT_NE(xml.find("<cache name=\"size-16\" size=\"16\""), std::string::npos) << xml;
	EXPECT_NE(xml.find("</malloc>\n"), std::string::npos) << xml;
	errno = 0;
	EXPECT_EQ(malloc_info(1, stderr), -1);
	EXPECT_EQ(errno, EINVAL);
}

TEST(MallocInfo, EscapesNames)
{
	struct slab_cache *cache = slab_cache_create("a<b>&\"c'", 64, nullptr, 0);
	char *text = nullptr;
	std::size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	ASSERT_NE(cache, nullptr);
	EXPECT_EQ(malloc_info(0, file), 0);
	fclose(file);
	EXPECT_NE(std::string(text).find("<cache name=\"a&#60;b&#62;&#38;&#34;c&#39;\" "),
		  std::string::npos)
		<< text;
	free(text);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST(MallocInfo, StatsIsNoCancellationPoint)
{
	expect_not_cancelled_within(malloc_stats);
}

TEST(MallocInfo, StatsOnAPipeWithoutAReaderDoNotEndTheProgram)
{
	EXPECT_IN_CHILD([] {
		std::array<int, 2> fd = {-1, -1};

		if (pipe(fd.data()) != 0 || dup2(fd[1], STDERR_FILENO) < 0)
			return 1;
		close(fd[0]);
		malloc_stats();
		return 0;
	});
}

TEST(MallocInfo, Takes8KiBOfStackAtMost)
{
	if (under_asan || under_tsan || under_gcov)
		GTEST_SKIP() << "instrumented frames are larger";
	for (const auto &call : {+[] { mallinfo2(); }, +[] { malloc_stats(); }}) {
		call();
		EXPECT_LE(painted_stack::depth(call), 8192U);
	}
}

TEST(MallocInfo, StatsGoToStandardError)
{
	std::string text;

	testing::internal::CaptureStderr();
	malloc_stats();
	text = testing::internal::GetCapturedStderr();
	EXPECT_EQ(text.rfind("libslab ", 0), 0U) << text;
	EXPECT_NE(text.find("in use bytes"), std::string::npos) << text;
}

} /* namespace */
