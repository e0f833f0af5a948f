/* SPDX-License-Identifier: MIT */
/* What the tests of pblock-profile and pblock-replay share: running them. */
#ifndef TESTS_DIRSRV_PROFILE_TOOLS_H
#define TESTS_DIRSRV_PROFILE_TOOLS_H

#include "../../../tests/tools/pictures.h"

namespace slab_test
{

/* What it prints when it succeeds without a word on stderr. */
inline std::string tool_output(const std::string &program, const std::vector<std::string> &words)
{
	const result got = run_tool(program, words);

	EXPECT_EQ(got.status, 0) << got.err;
	EXPECT_EQ(got.err, "");
	return got.out;
}

/* It does nothing but print this error message. */
inline void expect_tool_error(const std::string &program, const std::vector<std::string> &words,
			      const std::string &message, int status = 2)
{
	const result got = run_tool(program, words);

	EXPECT_EQ(got.err, message + "\n");
	EXPECT_EQ(got.status, status) << testing::PrintToString(words);
	EXPECT_EQ(got.out, "");
}

/* --help names every option that the manual does, and the other way round. */
inline void expect_manual_of_options(const std::string &program, const std::string &page)
{
	const std::string help = tool_output(program, {"--help"});
	const std::string manual = file_text(std::string(MANUAL) + "/" + page);
	std::size_t options = 0;

	for (const std::string &line : lines_of(manual)) {
		if (line.compare(0, 8, ".It Fl -") != 0)
			continue;
		const std::string name = "-" + words_of(line)[2];

		EXPECT_TRUE(contains(help, name)) << name;
		options++;
	}
	for (const std::string &word : words_of(help)) {
		const std::string name = word.substr(0, word.find_first_of("=]"));

		if (name.compare(0, 2, "--") == 0) {
			EXPECT_TRUE(contains(manual, " Fl " + name.substr(1)) ||
				    contains(manual, ", " + name.substr(1)))
				<< name;
		}
	}
	EXPECT_GE(options, 3U) << page;
	for (const std::string &line : lines_of(help))
		EXPECT_LE(line.size(), 84U) << line;
}

inline std::string workloads(const std::string &name)
{
	return std::string(WORKLOADS) + "/" + name;
}

inline std::vector<std::string> all_traces()
{
	std::vector<std::string> all;

	for (const char *name : {"add", "bind", "delete", "internal-search", "modify",
				 "plugin-registration", "search"})
		all.push_back(workloads(name) + ".trace");
	return all;
}

} /* namespace slab_test */

#endif /* TESTS_DIRSRV_PROFILE_TOOLS_H */
