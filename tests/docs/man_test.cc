/* SPDX-License-Identifier: MIT */
/*
 * The manual: every function, option, variable, attribute and event has its place
 * there, nothing else has, and the pages are well-formed. Programs of the guides compile.
 */
#include "documents.h"

#include <slab/stats.h>

extern "C" {
#include "base/options.h"
}

using namespace slab_test;

namespace
{

const std::string man_dir = SLAB_MAN_DIR;

/* The pages themselves, without links from one name to another. */
std::vector<std::string> pages()
{
	std::vector<std::string> all = files_in(man_dir + "/man3");
	struct stat info;

	all.erase(std::remove_if(all.begin(), all.end(),
				 [&info](const std::string &file) {
					 return lstat(file.c_str(), &info) || S_ISLNK(info.st_mode);
				 }),
		  all.end());
	for (const char *section : {"docs/man/man1", "docs/man/man7", "dirsrv/docs/man/man1"})
		for (const std::string &file : files_in(in_source(section)))
			all.push_back(file);
	return all;
}

std::string page(const std::string &name)
{
	return content(in_source("docs/man/man") + name.back() + "/" + name);
}

/* The words of all lines that begin with a macro. */
std::vector<std::vector<std::string>> lines_with(const std::string &text, const std::string &macro)
{
	std::vector<std::vector<std::string>> found;

	for (const std::string &line : lines_of(text))
		if (line.compare(0, macro.size() + 1, macro + " ") == 0)
			found.push_back(words_of(line.substr(macro.size())));
	return found;
}

/* What stands in ".It Cm a , b" and ".It Ev C Ns = …". */
names items(const std::string &text, const std::string &macro)
{
	names found;

	for (const auto &words : lines_with(text, ".It " + macro))
		for (std::size_t i = 0; i < words.size(); i += 2) {
			found.insert(words[i]);
			if (i + 1 >= words.size() || words[i + 1] != ",")
				break;
		}
	return found;
}

/* What stands in ".It Fl l , -slabs , -Totals Ns = …". */
names documented_options(const std::string &text)
{
	names found;

	for (const std::string &option : items(text, "Fl"))
		found.insert("-" + option);
	return found;
}

std::string section(const std::string &text, const std::string &title)
{
	const std::size_t start = text.find(".Sh " + title);

	EXPECT_NE(start, std::string::npos) << title;
	return text.substr(start, text.find("\n.Sh ", start) - start);
}

names functions_of(const std::string &map)
{
	names functions;

	for (const std::string &line : lines_of(content(in_source(map)))) {
		const std::vector<std::string> words = words_of(line);

		if (words.size() == 1 && std::isalpha(words[0][0]) && words[0].back() == ';')
			functions.insert(words[0].substr(0, words[0].size() - 1));
	}
	EXPECT_GT(functions.size(), 40U);
	return functions;
}

names exported_functions()
{
	names functions = functions_of("cmake/libslab.map");

	functions.merge(functions_of("dirsrv/libslab_dirsrv.map"));
	return functions;
}

TEST(ManTest, EveryExportedFunctionHasAPage)
{
	for (const std::string &function : exported_functions())
		EXPECT_TRUE(exists(man_dir + "/man3/" + function + ".3")) << function;
}

TEST(ManTest, APageShowsHowSafeItsFunctionsAre)
{
	for (const std::string &function : exported_functions()) {
		const std::string text = content(man_dir + "/man3/" + function + ".3");

		EXPECT_TRUE(contains(text, "fork-safe")) << function;
		EXPECT_TRUE(contains(text, "async-signal-safe")) << function;
	}
	for (const std::string &function : functions_of("cmake/libslab.map"))
		EXPECT_TRUE(contains(content(man_dir + "/man3/" + function + ".3"), "cancel-safe"))
			<< function;
}

TEST(ManTest, OptionsOfSlabinfo)
{
	EXPECT_EQ(documented_options(page("slabinfo.1")), options_of_slabinfo().all);
}

TEST(ManTest, OptionsOfTheExporter)
{
	EXPECT_EQ(documented_options(page("slab-exporter.1")), options_of_exporter().all);
}

TEST(ManTest, HelpHasEveryOptionAndFitsAScreen)
{
	const std::string help = slabinfo({"--help"}).out;
	const names documented = documented_options(page("slabinfo.1"));
	const names helped = options_in(help);

	for (const std::string &option : helped)
		EXPECT_TRUE(documented.count(option)) << option;
	for (const auto &letter : options_of_slabinfo().longer)
		EXPECT_TRUE(helped.count(letter.first)) << letter.first;
	EXPECT_TRUE(contains(help, "slabinfo(1)"));
	EXPECT_LE(lines_of(help).size(), 24U);
	for (const std::string &line : lines_of(help))
		EXPECT_LE(line.size(), 80U) << line;
}

TEST(ManTest, EnvironmentVariables)
{
	names variables;

	for (unsigned i = 0; const struct slab_option_info *info = slab_option_info(i); i++)
		variables.insert(info->name);
	EXPECT_EQ(items(section(page("slab.7"), "ENVIRONMENT"), "Ev"), variables);
}

/* The numbers of struct slab_stats, as its header has them. */
names members_of_stats()
{
	const std::string header = content(in_source("include/slab/stats.h"));
	const std::size_t start = header.find("struct slab_stats {\n");
	names members;

	for (const std::string &line :
	     lines_of(header.substr(start, header.find("\n};", start) - start))) {
		const std::vector<std::string> words = words_of(line);

		if (words.size() >= 2 && contains(words[1], ";") && words[0] != "char")
			members.insert(words[1].substr(0, words[1].find_first_of("[;")));
	}
	EXPECT_GT(members.size(), 20U);
	EXPECT_EQ(members.erase("struct_size"), 1U);
	EXPECT_EQ(members.erase("event"), 1U);
	return members;
}

TEST(ManTest, Attributes)
{
	const names documented = items(section(page("slab.7"), "ATTRIBUTES"), "Cm");

	for (const std::string &member : members_of_stats())
		EXPECT_TRUE(documented.count(member)) << member;
}

TEST(ManTest, Events)
{
	names events;

	for (unsigned i = 0; i < SLAB_EVENT_COUNT; i++)
		events.insert(slab_event_name(i));
	EXPECT_EQ(items(section(page("slab.7"), "EVENTS"), "Cm"), events);
}

TEST(ManTest, EveryNameThatSlabStatReadTakes)
{
	const std::string text = page("slab.7");
	names documented = items(section(text, "ATTRIBUTES"), "Cm");
	const names events = items(section(text, "EVENTS"), "Cm");
	unsigned count = 0;

	documented.insert(events.begin(), events.end());
	for (; const char *name = slab_stat_name(count); count++)
		EXPECT_TRUE(documented.count(name)) << name;
	EXPECT_GT(count, 30U);
}

TEST(ManTest, ReferencesLeadToPages)
{
	for (const std::string &file : pages())
		for (const auto &words : lines_with(content(file), ".Xr")) {
			ASSERT_GE(words.size(), 2U) << file;
			const std::string name = words[0] + "." + words[1];

			EXPECT_TRUE(name.compare(0, 4, "slab") != 0 ||
				    exists(man_dir + "/man" + words[1] + "/" + name))
				<< file << ": " << name;
		}
}

/* The examples of a document that a compiler takes: they include what they use. */
std::vector<std::string> programs_in(const std::string &text, const std::string &begin,
				     const std::string &end)
{
	std::vector<std::string> programs;

	for (std::size_t at = text.find(begin); at != std::string::npos;
	     at = text.find(begin, at + 1)) {
		const std::size_t start = at + begin.size();
		const std::string block = text.substr(start, text.find(end, start) - start);

		if (contains(block, "#include <slab/"))
			programs.push_back(block);
	}
	return programs;
}

void expect_compiles(const std::string &program, const std::string &file)
{
	child_process compiler({CC, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-std=c11",
				"-I", in_source("include"), "-x", "c", "-"});

	compiler.write_line(program);
	compiler.end_input();
	EXPECT_EQ(compiler.errors(), "") << file;
	EXPECT_EQ(compiler.wait(), 0) << file;
}

TEST(ManTest, ProgramsOfTheGuidesCompile)
{
	unsigned count = 0;

	for (const char *file : {"README.md", "docs/memory.md"})
		for (const std::string &program :
		     programs_in(content(in_source(file)), "```c\n", "\n```")) {
			expect_compiles(program, file);
			count++;
		}
	EXPECT_GE(count, 6U);
}

/* A formatter's words about all pages. */
void expect_no_warning(const std::string &name, std::vector<std::string> command)
{
	const std::vector<std::string> all = pages();

	if (find_program(name).empty())
		GTEST_SKIP() << name << " is not installed";
	command.insert(command.begin(), find_program(name));
	command.insert(command.end(), all.begin(), all.end());
	const result got = run_tool(command);

	EXPECT_EQ(got.status, 0) << got.out;
	EXPECT_EQ(got.err, "");
}

TEST(ManTest, MandocHasNothingToWarnOf)
{
	expect_no_warning("mandoc", {"-T", "lint", "-W", "warning"});
}

/* As man(1) of Debian calls it, for a terminal of 80 columns. */
TEST(ManTest, GroffHasNothingToWarnOf)
{
	expect_no_warning("groff", {"-k", "-mandoc", "-Tutf8", "-wmac", "-rLL=78n"});
}

} /* namespace */
