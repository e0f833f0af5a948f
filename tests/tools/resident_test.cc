/* SPDX-License-Identifier: MIT */
/* The lines below slabinfo's table that reconcile libslab's memory with that of the process. */
#include "core_files.h"

namespace
{

class ResidentTest : public CoreTest
{
protected:
	/* From the line on that says what is resident. */
	static std::string lines(const std::vector<std::string> &words = {"-B"})
	{
		const std::string text = slabinfo(words).out;
		const std::size_t at = text.find("\nResident ");

		EXPECT_NE(at, std::string::npos) << text;
		return at == std::string::npos ? text : text.substr(at);
	}

	static double number_after(const std::string &text, const std::string &word)
	{
		const std::size_t at = text.find(word);

		EXPECT_NE(at, std::string::npos) << word << text;
		return at == std::string::npos ? 0 : std::atof(text.c_str() + at + word.size());
	}

	server process{"plain", PROGRAMS "standing_server"};
};

/* Half of a large allocation is written, the rest was only read; the process has little else. */
TEST_F(ResidentTest, TheSumIsWithinThreePerCentOfTheProcess)
{
	process.do_task('b');
	const std::string text = lines();
	const double sum = number_after(text, "\nResident ");
	const double anonymous = number_after(text, "\nRssAnon ");
	const double objects = number_after(text, ": objects ");

	EXPECT_GT(sum, 90e6) << text;
	EXPECT_GT(objects, 500000 * 64 + 12000 * 4096.0) << text;
	EXPECT_GT(number_after(text, ", large "), 16 << 20) << text;
	EXPECT_LT(number_after(text, ", large "), 18 << 20) << text;
	EXPECT_LT(sum, anonymous * 1.03) << text;
	EXPECT_GT(sum, anonymous * 0.97) << text;
}

TEST_F(ResidentTest, PartsAddUp)
{
	const std::string text = lines();
	const double sum = number_after(text, "\nResident ");

	EXPECT_EQ(sum, number_after(text, ": objects ") + number_after(text, ", slab overhead ") +
			       number_after(text, ", free slabs ") +
			       number_after(text, ", large ") + number_after(text, ", metadata "))
		<< text;
	EXPECT_EQ(number_after(text, "\nRssAnon ") - sum, number_after(text, "other memory "))
		<< text;
}

/* The objects are those of all caches, whichever lines are shown. */
TEST_F(ResidentTest, FewerLinesHaveTheSameSum)
{
	const std::string all = lines(), one = lines({"-B", "-N1"});

	EXPECT_EQ(number_after(all, ": objects "), number_after(one, ": objects "));
}

TEST_F(ResidentTest, ACoreFileHasNoSuchLines)
{
	const result got = slabinfo({"--core", core_of(process)});

	EXPECT_TRUE(contains(got.out, "\nMemory ")) << got.out;
	EXPECT_FALSE(contains(got.out, "RssAnon")) << got.out;
}

} /* namespace */
