/* SPDX-License-Identifier: MIT */
/*
 * Completion in bash and zsh: the options are those of the programs, and what is
 * offered for them comes from real processes.
 */
#include "documents.h"
#ifdef TMUX
#include "../tools/terminal.h"
#endif

using namespace slab_test;

namespace
{

std::string completion(const std::string &name)
{
	return in_source("tools/completion/") + name;
}

names words_of_lines(const std::string &text)
{
	names found;

	for (const std::string &line : lines_of(text))
		if (!line.empty())
			found.insert(line);
	return found;
}

/* What bash offers behind these words; the last one is being typed. */
names offered(const std::vector<std::string> &words, const std::string &program = SLABINFO,
	      const std::string &file = "slabinfo.bash")
{
	const std::string script =
		"source \"$1\" && COMP_WORDS=(\"${@:3}\") && COMP_CWORD=$(($# - 3)) && \"$2\" \"$3\" && "
		"printf '%s\\n' \"${COMPREPLY[@]}\"";
	const std::string function = file == "slabinfo.bash" ? "_slabinfo" : "_slab_exporter";
	std::vector<std::string> command = {find_program("bash"), "--norc", "-c",   script, "bash",
					    completion(file),     function, program};

	command.insert(command.end(), words.begin(), words.end());
	const result got = run_tool(command);

	EXPECT_EQ(got.err, "");
	return words_of_lines(got.out);
}

/* The options that a completion of zsh hands to _arguments, in specifications such as
 * "(-l --slabs)-l[a line for each cache]" and "*--process=[name]:name:". */
names arguments_of(const std::string &file)
{
	const result got =
		run_tool({find_program("zsh"), "-f", "-c",
			  "_arguments() { print -rl -- $@ }; source $1", "zsh", completion(file)});
	names found;

	EXPECT_EQ(got.err, "");
	for (std::string line : lines_of(got.out)) {
		line = line.substr(0, line.find('['));
		if (line[0] == '(')
			line = line.substr(line.find(')') + 1);
		const names option = options_in(line.substr(0, line.find_last_not_of("=+-") + 1));

		found.insert(option.begin(), option.end());
	}
	found.erase("-s"); /* of _arguments itself, and of the program */
	found.erase("-S");
	return found;
}

/* Of several long names of one letter (--totals, --Totals) one is enough. */
void expect_complete(const names &offered, const option_table &table)
{
	for (const std::string &option : offered)
		EXPECT_TRUE(table.all.count(option)) << option;
	for (const std::string &option : table.all) {
		names same = {option};

		for (const auto &letter : table.longer)
			if (letter.second.count(option))
				same = letter.second;
		EXPECT_TRUE(std::any_of(same.begin(), same.end(), [&](const std::string &name) {
			return offered.count(name) > 0;
		})) << option;
	}
}

class BashTest : public testing::Test
{
protected:
	void SetUp() override
	{
		if (find_program("bash").empty())
			GTEST_SKIP() << "bash is not installed";
	}

	runtime_dir dir;
};

TEST_F(BashTest, OffersTheOptionsOfThePrograms)
{
	expect_complete(offered({"-"}), options_of_slabinfo());
	expect_complete(offered({"-"}, "slab-exporter", "slab-exporter.bash"),
			options_of_exporter());
}

TEST_F(BashTest, OptionsByTheirBeginning)
{
	EXPECT_EQ(offered({"--re"}), (names{"--record", "--report", "--reset"}));
	EXPECT_EQ(offered({"--xyz"}), names{});
}

TEST_F(BashTest, Caches)
{
	server process;

	EXPECT_EQ(offered({"-r", "e"}), (names{"empty", "entry"}));
	EXPECT_EQ(offered({""}), (names{"empty", "entry", "first", "pblock"}));
}

TEST_F(BashTest, CachesOfTheProcessThatIsChosen)
{
	server one, other;

	EXPECT_EQ(offered({""}), names{}) << "of two processes none is meant";
	EXPECT_EQ(offered({"-p", std::to_string(one.pid()), "pb"}), names{"pblock"});
	EXPECT_EQ(offered({"--pid", "=", std::to_string(other.pid()), "pb"}), names{"pblock"});
	EXPECT_EQ(offered({"--process", "=", "nobody", "pb"}), names{});
}

TEST_F(BashTest, Processes)
{
	server process;
	const std::string pid = std::to_string(process.pid());

	EXPECT_TRUE(offered({"-p", ""}).count(pid));
	EXPECT_TRUE(offered({"--pid", "=", pid.substr(0, 1)}).count(pid));
	EXPECT_EQ(offered({"--process", "control_s"}), names{"control_server"});
	EXPECT_TRUE(offered({"--process", "="}).count("control_server"));
}

TEST_F(BashTest, AttributesThatCanBeSet)
{
	server process;

	EXPECT_EQ(offered({"--set", "entry."}),
		  (names{"entry.cpu_partial=", "entry.limit=", "entry.min_partial=",
			 "entry.remote_node_defrag_ratio=", "entry.sample="}));
}

TEST_F(BashTest, Files)
{
	const std::string core = dir.path() + "/core.4711";

	std::ofstream(core) << "x";
	EXPECT_EQ(offered({"--core", dir.path() + "/c"}), names{core});
	EXPECT_EQ(offered({"--map", "=", dir.path() + "/c"}), names{core});
	EXPECT_EQ(offered({"--diff", dir.path() + "/c"}), names{core});
}

TEST_F(BashTest, NothingIsOfferedForNumbers)
{
	server process;

	EXPECT_EQ(offered({"-N", ""}), names{});
	EXPECT_EQ(offered({"--interval", "="}), names{});
}

/* Names of others may hold anything that a shell would do something about. */
class hostile_names
{
public:
	hostile_names() : path_(std::getenv("PATH"))
	{
		const std::string tool = folder() + "/slabinfo";

		mkdir(folder().c_str(), 0700);
		std::ofstream script(tool);
		script << "#!/bin/sh\ncase \"$*\" in *--list*)\ncat <<'END'\n"
		       << "       PID  COMMAND          HOW\n"
		       << "      4711  it's `touch " << mark() << "`  socket\n"
		       << "      4711  p$(touch${IFS}" << mark() << ")  memory\n"
		       << "END\n;;\n*)\ncat <<'END'\nName Objects\n"
		       << "x$(touch${IFS}" << mark() << ") 1\n"
		       << "home$HOME 1\nquote'\" 1\nentry 1\nEND\n;;\nesac\n";
		script.close();
		chmod(tool.c_str(), 0700);
		setenv("PATH", (folder() + ":" + path_).c_str(), 1);
	}

	~hostile_names()
	{
		EXPECT_FALSE(exists(mark())) << "the code in a name was run";
		setenv("PATH", path_.c_str(), 1);
	}

	hostile_names(const hostile_names &) = delete;
	hostile_names &operator=(const hostile_names &) = delete;

	std::string folder() const
	{
		return dir.path() + "/bin";
	}

	/* As it must be typed. */
	std::string cache() const
	{
		return "x\\$\\(touch\\$\\{IFS\\}" + mark() + "\\)";
	}

	std::string process() const
	{
		return "it\\'s\\ \\`touch\\ " + mark() + "\\`";
	}

	runtime_dir dir;

private:
	/* A file that the code in the names would make. */
	std::string mark() const
	{
		return dir.path() + "/run";
	}

	std::string path_;
};

TEST_F(BashTest, NamesAreNotExpanded)
{
	const hostile_names names_of_others;
	const std::string cache = names_of_others.cache();

	EXPECT_EQ(offered({""}, "slabinfo"),
		  (names{cache, "home\\$HOME", "quote\\'\\\"", "entry"}));
	EXPECT_EQ(offered({"x$"}, "slabinfo"), names{cache});
	EXPECT_EQ(offered({"x\\$"}, "slabinfo"), names{cache}) << "as it was completed before";
	EXPECT_EQ(offered({"*"}, "slabinfo"), names{}) << "a beginning is no pattern";
	EXPECT_EQ(offered({"'e"}, "slabinfo"), names{"entry"});
	EXPECT_EQ(offered({"'x"}, "slabinfo"), names{}) << "between quotation marks";
	EXPECT_EQ(offered({"--process", "i"}, "slabinfo"), names{names_of_others.process()});
	EXPECT_EQ(offered({"--process", "nobody"}, "slabinfo"), names{});
	EXPECT_EQ(offered({"--process", "i"}, "slab-exporter", "slab-exporter.bash"),
		  names{names_of_others.process()});
	EXPECT_TRUE(offered({"--set", "x"}, "slabinfo").count(cache + ".limit="));
}

#ifdef TMUX
/* Keys are typed, while processes with such names run. */
TEST_F(BashTest, NamesAreQuotedOnTheCommandLine)
{
	const hostile_names names_of_others;
	terminal bash(names_of_others.dir, 120, 20,
		      "PATH=" + names_of_others.folder() + ":$PATH PS1=\"> \" bash --norc -i");

	bash.press("\"source " + completion("slabinfo.bash") + "\" Enter");
	bash.press("-l \"slabinfo x\"");
	bash.press("Tab");
	bash.expect("slabinfo " + names_of_others.cache());
	bash.press("C-u");
	bash.press("-l \"slabinfo --process=i\"");
	bash.press("Tab");
	bash.expect("slabinfo --process=" + names_of_others.process());
}
#endif

class ZshTest : public testing::Test
{
protected:
	void SetUp() override
	{
		if (find_program("zsh").empty())
			GTEST_SKIP() << "zsh is not installed";
	}
};

TEST_F(ZshTest, OffersTheOptionsOfThePrograms)
{
	names slabinfo = arguments_of("_slabinfo");

	EXPECT_FALSE(slabinfo.empty());
	slabinfo.insert({"-s", "-S"});
	expect_complete(slabinfo, options_of_slabinfo());
	expect_complete(arguments_of("_slab-exporter"), options_of_exporter());
}

TEST_F(ZshTest, IsLoadedForThePrograms)
{
	const std::string zsh = find_program("zsh");
	const result got =
		run_tool({zsh, "-f", "-c",
			  ("fpath=($1 $fpath); autoload -Uz compinit && compinit -u -D && "
			   "print $_comps[slabinfo] $_comps[slab-exporter]"),
			  "zsh", completion("")});

	EXPECT_EQ(got.out, "_slabinfo _slab-exporter\n") << got.err;
	for (const char *file : {"_slabinfo", "_slab-exporter"})
		EXPECT_EQ(run_tool({zsh, "-n", completion(file)}).err, "");
}

#ifdef TMUX
TEST_F(ZshTest, NamesAreQuotedOnTheCommandLine)
{
	const hostile_names names_of_others;
	terminal zsh(names_of_others.dir, 120, 20,
		     "PATH=" + names_of_others.folder() + ":$PATH PS1=\"> \" zsh -f -i");

	zsh.press("\"fpath=(" + completion("") + " \\$fpath)\" Enter");
	zsh.press("\"autoload -Uz compinit && compinit -u -D && print loaded\" Enter");
	zsh.expect("\nloaded");
	zsh.press("-l \"slabinfo x\"");
	zsh.press("Tab");
	zsh.expect("slabinfo " + names_of_others.cache());
	zsh.press("C-u");
	zsh.press("-l \"slabinfo --process=i\"");
	zsh.press("Tab");
	zsh.expect("slabinfo --process=" + names_of_others.process());
	/* The line has been read once more, to ask this process for its caches. */
	zsh.press("-l \" ent\"");
	zsh.press("Tab");
	zsh.expect(" entry");
}
#endif

} /* namespace */
