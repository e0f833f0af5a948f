/* SPDX-License-Identifier: MIT */
/* Memory of another process: the parts that are read, in any pieces, and no others; while the
 * process changes. */
#include <linux/sched.h>

#include <filesystem>

#include "../support/server.h"

extern "C" {
#include "attach.h"
#include "memory.h"
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

/* Where the address of a damaged table entry may lead. */
TEST(MemorySourceTest, ACopyHasNoBytesBehindTheLastAddress)
{
	runtime_dir dir;
	server process("plain", PROGRAMS "silent_server");
	struct snapshot snapshot = {};
	std::uint64_t words[2];

	snapshot.limit_s = 10;
	struct memory *memory = memory_open_snapshot(process.pid(), &snapshot);

	ASSERT_NE(memory, nullptr);
	EXPECT_EQ(memory_read(memory, UINT64_MAX - 7, sizeof(words), words), -EFAULT);
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

/* --- processes whose files or programs change --- */

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

	runtime_dir dir;
	char message[512] = "";
};

TEST_F(ChangingProcessTest, ALibraryThatWasDeletedIsOpenedByRoot)
{
	const std::string library = dir.path() + "/copy";
	uint64_t address = 0, offset;

	std::filesystem::copy_file(LIBSLAB, library);
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
