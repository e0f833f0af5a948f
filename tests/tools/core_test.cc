/* SPDX-License-Identifier: MIT */
/* Core files as the reader sees them: what they refuse, and what it takes from the program. */
#include "../support/server.h"

extern "C" {
#include "attach.h"
#include "memory_source.h"
}

namespace
{

/* With sanitizers a process has terabytes of shadow: no core files of these. */
class CoreTest : public testing::Test
{
protected:
	void SetUp() override
	{
		if (under_asan || under_tsan)
			GTEST_SKIP() << "no core files of processes with sanitizers";
		if (!exists("/usr/bin/gcore"))
			GTEST_SKIP() << "gcore is not installed";
	}

	/* A core file of a process that goes on. */
	std::string core_of(const child_process &process)
	{
		const std::string name = dir.path() + "/gcore";
		child_process gcore({"/usr/bin/gcore", "-o", name, std::to_string(process.pid())});

		gcore.rest_of_output();
		const std::string errors = gcore.errors();

		EXPECT_EQ(gcore.wait(), 0) << errors;
		return name + "." + std::to_string(process.pid());
	}

	runtime_dir dir;
};

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

/* A static program of whose core file only anonymous memory and the ELF headers are there. */
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
		server process("plain", program);

		write_file("/proc/" + std::to_string(process.pid()) + "/coredump_filter", "0x13");
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

TEST_F(ProgramTest, ConstantsAreReadFromTheProgram)
{
	const std::string read = constants();

	EXPECT_GT(offset, 0U);
	EXPECT_TRUE(read == file_text(program).substr(offset, 4096));
}

TEST_F(ProgramTest, AProgramThatWasBuiltAgainIsNotRead)
{
	std::string trouble;

	ASSERT_EQ(unlink(program.c_str()), 0);
	write_file(program, file_text(PROGRAMS "silent_server"));
	EXPECT_TRUE(constants(&trouble) == "not readable");
	EXPECT_EQ(trouble, "the core file leaves out what is in " + program +
				   ", which is another build than the process had; give the "
				   "program with --exe");
}

} /* namespace */
