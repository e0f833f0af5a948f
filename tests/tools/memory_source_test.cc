/* SPDX-License-Identifier: MIT */
/* Memory of another process: the parts that are read, in any pieces, and no others. */
#include <linux/sched.h>

#include <filesystem>

#include "../support/server.h"

extern "C" {
#include "memory_source.h"
}

namespace
{

/* Of a process whose caches cannot be read: all that can be is libslab's own data. */
struct data_alone {
	const struct memory_source *source;
	std::uint64_t start, end;
} readable;

int read_data_alone(struct memory *memory, std::uint64_t address, std::size_t size, void *to)
{
	if (address < readable.start || address + size > readable.end)
		return -EFAULT;
	return readable.source->read(memory, address, size, to);
}

TEST(MemorySourceTest, WhetherThereAreCachesIsKnownWithoutReadingThem)
{
	runtime_dir dir;
	server process("plain", PROGRAMS "silent_server");
	struct memory *memory = memory_open_process(process.pid(), "");
	struct memory_source source = {read_data_alone, nullptr, nullptr, nullptr, nullptr, true};
	struct slab_answer answer;

	ASSERT_NE(memory, nullptr);
	readable = {memory->source, UINT64_MAX, 0};
	for (std::size_t i = 0; i < memory->mappings; i++) {
		const struct mapping *at = &memory->mapping[i];

		if (!contains(at->path, "libslab"))
			continue;
		readable.start = std::min(readable.start, at->start);
		readable.end = std::max(readable.end,
					at->end + (16 << 20)); /* what is zero at first, too */
	}
	memory->source = &source;
	EXPECT_EQ(memory_find_root(memory), 0);
	EXPECT_EQ(memory_query(memory, "stats", &answer), -EFAULT);
	slab_answer_free(&answer);
	memory->source = readable.source;
	memory_close(memory);
}

/* The largest mapping, and what is in it. */
class PiecesTest : public testing::Test
{
protected:
	PiecesTest()
	{
		memory = memory_open_process(process.pid(), "");
		for (std::size_t i = 0; memory && i < memory->mappings; i++) {
			const struct mapping *at = &memory->mapping[i];

			if (!largest || at->end - at->start > largest->end - largest->start)
				largest = at;
		}
	}

	~PiecesTest() override { memory_close(memory); }

	/* Pieces as they are picked out of all that there is. */
	std::string picked(std::size_t size, std::size_t stride, std::size_t count)
	{
		std::string whole(count * stride, '\0'), pieces;

		EXPECT_EQ(memory_read_pieces(memory, largest->start, whole.size(), 0, 1,
					     whole.data()),
			  0);
		for (std::size_t i = 0; i < count; i++)
			pieces += whole.substr(i * stride, size);
		return pieces;
	}

	std::string read(std::size_t size, std::size_t stride, std::size_t count)
	{
		std::string pieces(size * count, '\0');

		EXPECT_EQ(memory_read_pieces(memory, largest->start, size, stride, count,
					     pieces.data()),
			  0);
		return pieces;
	}

	runtime_dir dir;
	server process;
	struct memory *memory;
	const struct mapping *largest = nullptr;
};

TEST_F(PiecesTest, PiecesAreTheSameHoweverFarApart)
{
	ASSERT_NE(largest, nullptr);
	const std::size_t bytes = largest->end - largest->start;

	for (std::size_t stride : {128, 256, 2176, 4095, 4096, 5000, 16384})
		EXPECT_EQ(read(128, stride, bytes / stride), picked(128, stride, bytes / stride))
			<< stride;
}

TEST_F(PiecesTest, MorePiecesThanTheKernelTakesAtOnce)
{
	std::string pieces(3000, '\0');

	ASSERT_NE(largest, nullptr);
	EXPECT_EQ(read(1, 3, 3000), picked(1, 3, 3000));
	EXPECT_EQ(memory->source->read_pieces(memory, largest->start, 1, 1, 3000, pieces.data()),
		  0);
	EXPECT_EQ(pieces, picked(1, 1, 3000));
}

TEST_F(PiecesTest, WhatIsNotThereFailsThisCallAlone)
{
	char byte;

	ASSERT_NE(largest, nullptr);
	EXPECT_EQ(memory_read_pieces(memory, 0, 1, 1, 1, &byte), -EFAULT);
	EXPECT_EQ(memory_read_pieces(memory, ~UINT64_C(0) - 8, 64, 64, 1, &byte), -EFAULT);
	EXPECT_EQ(memory_read_pieces(memory, largest->start, 1, 1, 1, &byte), 0);
}

} /* namespace */

/* Processes whose files or programs change: names of functions, and what slabinfo says. */

extern "C" {
#include "attach.h"
#include "memory.h"
}

namespace
{

class ChangingProcessTest : public testing::Test
{
protected:
	~ChangingProcessTest() override { fail_capture(nullptr, 0); }

	static struct process choose(pid_t pid, bool memory = false)
	{
		struct choice choice = {};
		struct process chosen;

		choice.pid = pid;
		choice.memory = memory;
		EXPECT_EQ(attach_choose(&choice, &chosen), -1);
		EXPECT_TRUE(json(attach_query(&chosen, "stats", nullptr)));
		return chosen;
	}

	/* Neither its memory nor its socket is taken for those of the process that was chosen. */
	void expect_change(struct process &chosen, const std::string &change)
	{
		const std::string expected =
			"process " + std::to_string(chosen.pid) + " (control_server) " + change;

		fail_capture(message, sizeof(message));
		EXPECT_EQ(attach_query(&chosen, "stats", nullptr), nullptr);
		EXPECT_EQ(message, expected);
		attach_close(&chosen);
	}

	/* When a process that begins now has begun. */
	static uint64_t started_now()
	{
		const child_process process({"/bin/true"});

		return proc_started(process.pid());
	}

	std::string copy_of(const std::string &file) const
	{
		const std::string name = dir.path() + "/copy";

		std::filesystem::copy_file(file, name);
		return name;
	}

	runtime_dir dir;
	char message[512] = "";
};

TEST_F(ChangingProcessTest, AProgramThatWasReplacedHasNames)
{
	const std::string program = copy_of(CONTROL_SERVER);
	server process("plain", program);

	output_of({"-du", "entry"});
	process.do_task('l');
	write_file(program + ".new", "another program");
	std::filesystem::rename(program + ".new", program);
	EXPECT_TRUE(contains(output_of({"-t", "entry"}), "leak_entries+0x"));
}

TEST_F(ChangingProcessTest, ALibraryThatWasDeletedIsOpenedByRoot)
{
	const std::string library = copy_of(LIBSLAB);
	uint64_t address = 0, offset;

	setenv("LIBSLAB", library.c_str(), 1);
	const server process("copies", PROGRAMS "silent_server_archive");

	unsetenv("LIBSLAB");
	std::filesystem::remove(library);
	std::ifstream maps("/proc/" + std::to_string(process.pid()) + "/maps");

	for (std::string line; !address && std::getline(maps, line);)
		if (contains(line, library) && contains(line, " r-xp "))
			address = std::stoull(line, nullptr, 16);
	struct memory *memory = memory_open_process(process.pid(), "");

	ASSERT_TRUE(memory && address);
	const std::string path = memory_locate(memory, address, &offset);

	if (geteuid() == 0)
		EXPECT_TRUE(exists(path)) << path;
	else
		EXPECT_EQ(path, library + " (deleted)");
	memory_close(memory);
}

TEST_F(ChangingProcessTest, AnotherProgramInTheProcessIsNoticed)
{
	server process;
	struct process chosen = choose(process.pid());

	process.write_line("x");
	while (file_text("/proc/" + std::to_string(process.pid()) + "/comm") != "cat\n")
		usleep(1000);
	expect_change(chosen, "has started another program meanwhile (execve)");
}

TEST_F(ChangingProcessTest, AnotherProcessWithItsNumberIsNoticed)
{
	server process;
	pid_t number = process.pid();
	struct process chosen = choose(number);
	struct clone_args args = {};

	while (proc_started(number) == started_now()) /* it is counted in hundredths of a second */
		;
	process.wait();
	args.exit_signal = SIGCHLD;
	args.set_tid = reinterpret_cast<uintptr_t>(&number);
	args.set_tid_size = 1;
	const long child = syscall(SYS_clone3, &args, sizeof(args));

	if (child == 0)
		for (;;)
			pause();
	if (child < 0) {
		attach_close(&chosen);
		GTEST_SKIP() << "no process number can be chosen: " << std::strerror(errno);
	}
	expect_change(chosen, "has ended, and another process has its number");
	kill(number, SIGKILL);
	waitpid(number, nullptr, 0);
}

TEST_F(ChangingProcessTest, AProcessIsReadAfterItsFirstThreadHasEnded)
{
	const server process("headless");
	const std::string pid = std::to_string(process.pid());

	while (status_line("/proc/" + pid, "State").compare(0, 1, "Z") != 0)
		usleep(1000);
	EXPECT_EQ(row_of(output_of({"-p", pid}), "entry").at(1), "500");
	EXPECT_TRUE(contains(output_of({"-p", pid, "-du", "entry"}), "-> U"));
	EXPECT_EQ(slabinfo({"--find-leaks", pid}).err, "");
}

TEST_F(ChangingProcessTest, AProcessThatVanishesMidwayFailsTheRequestAndTheQuestion)
{
	for (bool memory : {true, false}) {
		server process;
		struct process chosen = choose(process.pid(), memory);

		EXPECT_EQ(chosen.way, memory ? WAY_MEMORY : WAY_SOCKET);
		EXPECT_EQ(process.wait(), 0);
		expect_change(chosen, "has ended");
	}
}

TEST_F(ChangingProcessTest, AProcessThatStopsMidwayIsReadOn)
{
	server process;
	struct process chosen = choose(process.pid());
	int status;

	kill(process.pid(), SIGSTOP);
	ASSERT_EQ(waitpid(process.pid(), &status, WUNTRACED), process.pid());
	fail_capture(message, sizeof(message));
	EXPECT_TRUE(json(attach_query(&chosen, "stats", nullptr)));
	EXPECT_STREQ(message, "");
	kill(process.pid(), SIGCONT);
	attach_close(&chosen);
}

} /* namespace */

/* Core files as the reader sees them: what they refuse, and what it takes from the program. */

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
