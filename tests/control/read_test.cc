/* SPDX-License-Identifier: MIT */
/* The request "read": what of the process's memory it serves, and what it refuses. */
#include <sys/uio.h>
#include <thread>

#include "../support/refuse.h"
#include "../support/server.h"
#include "../support/rooms.h"

extern "C" {
#include "attach.h"
}

namespace
{

/* With files and offsets of stacks, as the tools have it. */
json look(pid_t pid, const std::string &request)
{
	struct process process = {};

	process.pid = pid;
	process.way = WAY_MEMORY;
	json answer(attach_query(&process, request.c_str(), nullptr));

	attach_close(&process);
	return answer;
}

class ReadTest : public testing::Test
{
protected:
	std::string socket() const { return dir.socket(process->pid()); }

	std::uint64_t root() const { return number(query_json(socket(), "ping").get(), "root"); }

	static std::string request(std::uint64_t address, std::size_t size, std::size_t stride = 0,
				   std::size_t count = 1)
	{
		return "slab/2 read " + std::to_string(address) + " " + std::to_string(size) + " " +
		       std::to_string(stride) + " " + std::to_string(count) + "\n";
	}

	/* The bytes behind the line of an answer, or the whole refusal. */
	std::string read(std::uint64_t address, std::size_t size) const
	{
		const std::string answer = ask_last(socket(), request(address, size));

		return contains(answer, "\"ok\":true") ? answer.substr(answer.find('\n') + 1)
						       : answer;
	}

	void expect_foreign(std::uint64_t address) const
	{
		EXPECT_TRUE(contains(read(address, 8), "has no structure of libslab")) << address;
	}

	runtime_dir dir;
	std::unique_ptr<server> process = std::make_unique<server>();
};

TEST_F(ReadTest, TheRootIsServed)
{
	struct slab_root copy;
	const std::string bytes = read(root(), sizeof(copy));

	ASSERT_EQ(bytes.size(), sizeof(copy));
	std::memcpy(&copy, bytes.data(), sizeof(copy));
	EXPECT_EQ(copy.magic, ROOT_MAGIC);
}

TEST_F(ReadTest, SeveralPiecesFollowOneAnother)
{
	const std::string once = read(root(), 16);
	const std::string answer = ask_last(socket(), request(root(), 8, 8, 2));

	EXPECT_EQ(answer.substr(answer.find('\n') + 1), once);
}

TEST_F(ReadTest, PiecesAreBounded)
{
	EXPECT_TRUE(contains(ask_last(socket(), request(root(), 1, 0, 1024)), "\"bytes\":1024"));
	EXPECT_TRUE(contains(ask_last(socket(), request(root(), 1, 0, 1025)), "at most 1024"));
}

/* Whoever unmaps the head of a large allocation takes away its mark under the same lock. */
TEST(ReadOwnTest, AHeadIsCopiedWhileItIsThere)
{
	void *large = slab_malloc(1 << 20);
	char *start = segment_start(segment_of(large));
	const std::string line =
		"slab/2 read " + std::to_string(std::uintptr_t(segment_of(large))) + " 8 0 1";
	struct slab_json json = {};

	segment_lock();
	segment_mark_large(start, 2 << 20, 0);
	std::thread reader([&] { slab_control_answer(&json, line.c_str(), true); });
	usleep(50000); /* without the lock, the answer would be there */
	segment_unlock();
	reader.join();
	EXPECT_TRUE(contains(std::string(json.text, json.len), "has no structure of libslab"));
	segment_lock();
	segment_mark_large(start, 0, 2 << 20);
	segment_unlock();
	slab_json_free(&json);
	slab_mfree(large);
}

TEST_F(ReadTest, AConnectionServesManyRequests)
{
	const std::uint64_t at = root();
	const std::string expected = ask_last(socket(), request(at, 8));
	client one(socket());

	for (int i = 0; i < 100; i++) {
		one.send(request(at, 8));
		EXPECT_EQ(one.receive(expected.size()), expected);
	}
}

TEST_F(ReadTest, ObjectsAreNotServed)
{
	const json slabs = look(process->pid(), "slabs entry");
	struct json_object *row = json_object_array_get_idx(member(slabs.get(), "slabs"), 0);
	const std::uint64_t object = json_object_get_uint64(json_object_array_get_idx(row, 1));

	expect_foreign(object);
	expect_foreign(object + 712);
}

TEST_F(ReadTest, MemoryOfTheProgramIsNotServed)
{
	std::ifstream maps("/proc/" + std::to_string(process->pid()) + "/maps");
	std::string line;

	while (std::getline(maps, line))
		if (contains(line, "[stack]") || contains(line, "[heap]") ||
		    contains(line, "libc.so"))
			expect_foreign(std::stoull(line, nullptr, 16));
	expect_foreign(8);
	expect_foreign(UINT64_C(0x7ffffffff000));
}

/* A program has the filter of the thread that starts it. */
TEST_F(ReadTest, AProcessThatMayNotReadItselfBySystemCallsIsServed)
{
	std::string marks(SEGMENT_MARKS, 0);
	struct slab_root copy;

	process.reset();
	std::thread([this] {
		if (refuse(SYS_process_vm_readv, EPERM))
			process = std::make_unique<server>();
	}).join();
	if (!process)
		GTEST_SKIP() << "the kernel installs no filter";
	const std::string bytes = read(root(), sizeof(copy));

	ASSERT_EQ(bytes.size(), sizeof(copy));
	std::memcpy(&copy, bytes.data(), sizeof(copy));

	const struct iovec to = {marks.data(), marks.size()};
	const struct iovec from = {const_cast<std::uint8_t *>(copy.marks), marks.size()};

	ASSERT_EQ(process_vm_readv(process->pid(), &to, 1, &from, 1, 0),
		  static_cast<ssize_t>(marks.size()));
	EXPECT_EQ(read(reinterpret_cast<std::uint64_t>(copy.marks), marks.size()), marks);
}

TEST_F(ReadTest, ARangeThatLeavesAStructureIsNotServed)
{
	EXPECT_TRUE(contains(read(root(), sizeof(struct slab_root) + 8), "no structure"));
	EXPECT_TRUE(contains(read(root() - 8, 16), "no structure"));
}

TEST_F(ReadTest, WrongRequestsAreRefused)
{
	for (const char *words :
	     {"", "1", "8 8", "8 8 0", "0 8 0 1", "8 0 0 1", "8 8 0 0", "8 262145 0 1",
	      "8 8 0 32769", "8 8 0 1 1", "-8 8 0 1", "9223372036854775807 8 0 1"})
		EXPECT_TRUE(contains(ask_last(socket(), std::string("slab/2 read ") + words + "\n"),
				     "read needs an address"))
			<< words;
}

} /* namespace */
