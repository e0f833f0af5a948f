/* SPDX-License-Identifier: MIT */
/* What the tests of pblock-profile and pblock-replay share: running them. */
#ifndef TESTS_DIRSRV_TRACE_TOOLS_H
#define TESTS_DIRSRV_TRACE_TOOLS_H

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

/* It fails with this error message. */
inline void expect_tool_error(const std::string &program, const std::vector<std::string> &words,
			      const std::string &message)
{
	const result got = run_tool(program, words);

	EXPECT_EQ(got.err, message + "\n");
	EXPECT_EQ(got.status, 2) << testing::PrintToString(words);
}

/* The manual has each option of --help. */
inline void expect_manual_of_options(const std::string &program, const std::string &page)
{
	const std::string manual = file_text(std::string(MANUAL) + "/" + page);

	for (const std::string &word : words_of(tool_output(program, {"--help"}))) {
		const std::string name = word.substr(0, word.find_first_of("=]"));

		EXPECT_TRUE(name.compare(0, 2, "--") != 0 ||
			    contains(manual, "Fl " + name.substr(1)) ||
			    contains(manual, ", " + name.substr(1)))
			<< name;
	}
}

inline std::vector<std::string> all_traces()
{
	std::vector<std::string> all;

	for (const char *name : {"add", "bind", "delete", "internal-search", "modify",
				 "plugin-registration", "search"})
		all.push_back(std::string(WORKLOADS) + "/" + name + ".trace");
	return all;
}

} /* namespace slab_test */

#endif /* TESTS_DIRSRV_TRACE_TOOLS_H */
