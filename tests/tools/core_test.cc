/* SPDX-License-Identifier: MIT */
/*
 * slabinfo on core files: of running and of crashed processes, whole and cut. Files that
 * are none: no_core_test.cc.
 */
#include "core_files.h"

#include <glob.h>

extern "C" {
#include "attach.h"
#include "memory_source.h"
}

namespace
{

TEST_F(CoreTest, NumbersAreThoseOfTheRunningProcess)
{
	setenv("SLAB_DECAY_MS", "never", 1); /* none between the two looks */
	server process;

	unsetenv("SLAB_DECAY_MS");
	const std::string core = core_of(process);
	const std::string asked = quiet_json(slabinfo({"--json"}));

	EXPECT_EQ(quiet_json(slabinfo({"--json", "--core", core})), asked);
	EXPECT_EQ(slabinfo({"--core", core}).out, caches_part(slabinfo().out) + "\n");
	EXPECT_EQ(slabinfo({"--core", core}).err, "");
}

TEST_F(CoreTest, TheProcessIsNamed)
{
	server process;
	const std::string core = core_of(process);
	const std::string pid = std::to_string(process.pid());

	EXPECT_EQ(process.wait(), 0);
	const result got = slabinfo({"--core", core, "nobody"});

	EXPECT_EQ(got.status, 1);
	EXPECT_EQ(got.err, "slabinfo: no cache of process " + pid +
				   " (control_server) matches \"nobody\"\n");
}

TEST_F(CoreTest, CallSitesHaveSymbols)
{
	server process;

	EXPECT_EQ(slabinfo({"-du", "entry"}).status, 0);
	process.do_task('l');
	const result got = slabinfo({"-t", "entry", "--core", core_of(process)});

	EXPECT_EQ(got.status, 0) << got.err;
	EXPECT_TRUE(contains(got.out, "    100 leak_entries+0x")) << got.out;
}

TEST_F(CoreTest, TheHeapProfileIsDrawn)
{
	server process;

	EXPECT_EQ(slabinfo({"--profile=1"}).status, 0);
	process.do_task('l');
	const std::string core = core_of(process);
	const result got = slabinfo({"--flame=-", "--core", core});

	EXPECT_EQ(got.status, 0) << got.err;
	EXPECT_TRUE(contains(got.out, "<title>leak_entries: 69.5KiB, ")) << got.out;
	EXPECT_EQ(slabinfo({"--pprof=/dev/null", "--core", core}).status, 0);
}

/* A core file does not say what the clock was. */
TEST_F(CoreTest, LeaksSinceAMarkAreKnownWithoutRates)
{
	server process;

	slabinfo({"-du", "entry"});
	process.do_task('k');
	slabinfo({"--mark"});
	process.do_task('l');
	const std::string core = core_of(process);
	const result got = slabinfo({"--since-mark", "--core", core});

	EXPECT_EQ(got.status, 0) << got.err;
	EXPECT_EQ(lines_of(got.out).at(0).compare(0, 8, "Process "), 0);
	EXPECT_TRUE(contains(got.out, " (control_server), after mark ")) << got.out;
	EXPECT_TRUE(contains(got.out, "\n100 objects of 69.5KiB allocated since then and not "
				      "freed\n"))
		<< got.out;
	EXPECT_TRUE(contains(got.out, "leak_entries")) << got.out;
	EXPECT_FALSE(contains(got.out, "keep_one")) << got.out;
	EXPECT_FALSE(contains(got.out, "every minute")) << got.out;
}

TEST_F(CoreTest, ACrashedProcessIsRead)
{
	const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	std::string pattern;
	glob_t found;

	std::getline(std::ifstream("/proc/sys/kernel/core_pattern"), pattern);
	if (pattern.empty() || pattern[0] == '|' || pattern[0] == '/' ||
	    setrlimit(RLIMIT_CORE, &unlimited) != 0)
		GTEST_SKIP() << "core files do not go to the directory of the process";
	ASSERT_EQ(chdir(dir.path().c_str()), 0);
	server process;

	ASSERT_EQ(chdir("/"), 0);
	const std::string asked = quiet_json(slabinfo({"--json"}));

	kill(process.pid(), SIGABRT);
	EXPECT_EQ(process.wait(), -1);
	ASSERT_EQ(glob((dir.path() + "/*core*").c_str(), 0, nullptr, &found), 0);
	EXPECT_EQ(quiet_json(slabinfo({"--json", "--core", found.gl_pathv[0]})), asked);
	globfree(&found);
}

TEST_F(CoreTest, AStaticProgramIsRead)
{
	server process("plain", PROGRAMS "silent_server_static");

	EXPECT_EQ(row_of(slabinfo({"--core", core_of(process)}).out, "entry").at(1), "300");
}

/* The error message for a query that a core file does not answer. */
std::string refusal_of(const std::string &core, const char *request, const char *cache)
{
	struct choice choice = {};
	struct process chosen;
	char message[512] = "";

	choice.core = core.c_str();
	EXPECT_EQ(attach_choose(&choice, &chosen), -1);
	fail_capture(message, sizeof(message));
	EXPECT_EQ(attach_query(&chosen, request, cache), nullptr);
	fail_capture(nullptr, 0);
	attach_close(&chosen);
	return message;
}

TEST_F(CoreTest, ACoreFileCannotBeChanged)
{
	server process;
	const std::string core = core_of(process);

	for (const char *action : {"shrink", "debug -", "set limit 0"})
		EXPECT_EQ(refusal_of(core, action, "entry"), "a core file cannot be changed");
}

TEST_F(CoreTest, ACacheThatIsNotThereIsRefused)
{
	server process;

	EXPECT_EQ(refusal_of(core_of(process), "slabs", "nobody"),
		  "process " + std::to_string(process.pid()) +
			  " (control_server): no cache is called \"nobody\"");
}

TEST_F(CoreTest, AProcessWithoutLibslabIsRefused)
{
	child_process process({"/bin/cat"});

	process.write_line("started");
	EXPECT_EQ(process.line(), "started");
	const std::string core = core_of(process);

	expect_error({"--core", core}, "process " + std::to_string(process.pid()) +
					       " (cat), which left the core file \"" + core +
					       "\", did not use libslab");
}

TEST_F(CoreTest, AnotherLayoutIsRefused)
{
	server process("", PROGRAMS "other_layout");
	const result got = slabinfo({"--core", core_of(process)});

	EXPECT_EQ(got.status, 2);
	EXPECT_TRUE(contains(got.err, " (other_layout) has libslab 9.9.9 of another build than "))
		<< got.err;
}

/* --- the program ------------------------------------------------------------------ */

/* A static program whose core file lacks what the program's file has. */
class ProgramTest : public CoreTest
{
protected:
	void SetUp() override
	{
		CoreTest::SetUp();
		if (IsSkipped())
			return;
		program = dir.path() + "/server";
		write_file(program, file_text(PROGRAMS "silent_server_static"));
		ASSERT_EQ(chmod(program.c_str(), 0700), 0);
	}

	/* What is in it: 3, anonymous memory alone; 13, the ELF headers, too. */
	void leave_core(const std::string &filter)
	{
		server process("plain", program);

		write_file("/proc/" + std::to_string(process.pid()) + "/coredump_filter", filter);
		core = core_of(process);
	}

	/* The program's constants, which are in no core file. */
	std::string constants(std::string *trouble = nullptr)
	{
		struct memory *memory = memory_open_core(core.c_str(), nullptr);
		std::string text;
		int number = 0;

		EXPECT_NE(memory, nullptr);
		for (std::size_t i = 0; memory && i < memory->mappings; i++) {
			const struct mapping *at = &memory->mapping[i];

			/* Headers, code, constants, data. */
			if (at->path != program || ++number != 3)
				continue;
			text.resize(4096);
			offset = at->offset;
			if (memory_read_pieces(memory, at->start, 4096, 0, 1, text.data()) != 0)
				text = "not readable";
		}
		if (trouble && memory)
			*trouble = memory_trouble(memory);
		memory_close(memory);
		return text;
	}

	std::string program, core;
	std::size_t offset = 0; /* of the constants in the program's file */
};

TEST_F(ProgramTest, WhatTheCoreFileLeavesOutIsReadFromTheProgram)
{
	leave_core("3");
	EXPECT_EQ(row_of(slabinfo({"--core", core}).out, "entry").at(1), "300");
}

TEST_F(ProgramTest, AMissingProgramIsAskedFor)
{
	leave_core("3");
	ASSERT_EQ(unlink(program.c_str()), 0);
	expect_error({"--core", core},
		     "the core file leaves out what is in " + program +
			     ", which cannot be opened: No such file or directory; give the "
			     "program with --exe");
}

/* A core file may call anything a program: a pipe is not waited for. */
TEST_F(ProgramTest, APipeInItsPlaceIsNotOpened)
{
	leave_core("3");
	ASSERT_EQ(unlink(program.c_str()), 0);
	ASSERT_EQ(mkfifo(program.c_str(), 0600), 0);
	expect_error({"--core", core},
		     "the core file leaves out what is in " + program +
			     ", which cannot be opened: it is no regular file; give the "
			     "program with --exe");
	expect_error({"--core", core, "--exe", program},
		     "the program \"" + program + "\" cannot be opened: it is no regular file");
}

TEST_F(ProgramTest, AProgramElsewhereCanBeGiven)
{
	const std::string moved = dir.path() + "/moved";

	leave_core("3");
	ASSERT_EQ(rename(program.c_str(), moved.c_str()), 0);
	EXPECT_EQ(row_of(slabinfo({"--core", core, "--exe", moved}).out, "entry").at(1), "300");
}

TEST_F(ProgramTest, ConstantsAreReadFromTheProgram)
{
	leave_core("0x13");
	const std::string read = constants();

	EXPECT_GT(offset, 0U);
	EXPECT_TRUE(read == file_text(program).substr(offset, 4096));
}

TEST_F(ProgramTest, AProgramThatWasBuiltAgainIsNotRead)
{
	std::string trouble;

	leave_core("0x13");
	ASSERT_EQ(unlink(program.c_str()), 0);
	write_file(program, file_text(PROGRAMS "silent_server"));
	EXPECT_TRUE(constants(&trouble) == "not readable");
	EXPECT_EQ(trouble, "the core file leaves out what is in " + program +
				   ", which is another build than the process had; give the "
				   "program with --exe");
}

TEST_F(CoreTest, AnotherProgramIsRefused)
{
	const std::string program = PROGRAMS "control_server";
	server process;
	const std::string core = core_of(process);

	EXPECT_EQ(slabinfo({"--core", core, "--exe", program}).status, 0);
	for (const char *other : {PROGRAMS "silent_server", "/etc/passwd"})
		expect_error({"--core", core, "--exe", other},
			     "\"" + std::string(other) +
				     "\" is not the program that left the core file \"" + core +
				     "\", which was " + program);
	expect_error({"--core", core, "--exe", "/nowhere"},
		     "the program \"/nowhere\" cannot be opened: No such file or directory");
	expect_error({"--core", core, "--exe", "/"},
		     "the program \"/\" cannot be opened: it is no regular file");
}

TEST_F(CoreTest, EveryCutIsSeen)
{
	server process;
	const std::string core = core_of(process), cut = dir.path() + "/cut";
	const std::string whole = file_text(core);

	/* At the beginning, in the notes, in memory. */
	for (std::size_t length :
	     {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{200}, std::size_t{8000},
	      whole.size() / 2, whole.size() * 9 / 10}) {
		write_file(cut, whole.substr(0, length));
		const result got = slabinfo({"--core", cut});

		EXPECT_EQ(got.status, 2) << length;
		EXPECT_EQ(got.out, "") << length;
		EXPECT_EQ(lines_of(got.err).size(), 1U) << got.err;
	}
}

} /* namespace */
