/* SPDX-License-Identifier: MIT */
/* Processes whose files or programs change: names of functions, and what slabinfo says. */
#include "../support/server.h"

#include <filesystem>

#include <linux/sched.h>

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
