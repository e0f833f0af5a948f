/* SPDX-License-Identifier: MIT */
/*
 * Looking into a process through a reader: the numbers are those that the process
 * has of itself, and no memory, however it lies, leads the reader astray.
 */
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <slab/debug.h>
#include <slab/inspect.h>

#include "../support/objects.h"
#include "../support/whitebox.h"

#define _Static_assert static_assert
extern "C" {
#include "root.h"
}
#undef _Static_assert

using namespace slab_test;

namespace
{

/* Objects of a cache while this lives. */
class objects
{
public:
	objects(struct slab_cache *cache, std::size_t n)
		: cache_(cache), objs_(alloc_many(cache, n))
	{
	}

	~objects()
	{
		free_many(cache_, objs_);
	}

	objects(const objects &) = delete;
	objects &operator=(const objects &) = delete;

private:
	struct slab_cache *cache_;
	std::vector<void *> objs_;
};

/* What a reader does with what it has read; false: it says that it could not. */
using meddling = std::function<bool(char *bytes, std::size_t size)>;

int read_own_memory(std::uint64_t address, std::size_t size, char *to)
{
	const struct iovec local = {to, size};
	const struct iovec remote = {reinterpret_cast<void *>(address), size};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size)
		       ? 0
		       : -EFAULT;
}

int read_pieces(void *arg, std::uint64_t address, std::size_t size, std::size_t stride,
		std::size_t count, void *to)
{
	const auto &meddle = *static_cast<meddling *>(arg);
	char *at = static_cast<char *>(to);

	for (std::size_t i = 0; i < count; i++, address += stride, at += size) {
		if (read_own_memory(address, size, at) != 0 || !meddle(at, size))
			return -EFAULT;
	}
	return 0;
}

/* An answer and what the call returned. */
struct answered {
	int result;
	std::string text;
};

answered inspect(
	const std::string &request, meddling meddle = [](char *, std::size_t) { return true; },
	std::uint64_t root = reinterpret_cast<std::uint64_t>(&slab_root))
{
	struct slab_reader reader = {};
	struct slab_answer answer;

	reader.struct_size = sizeof(reader);
	reader.read = read_pieces;
	reader.arg = &meddle;
	reader.pid = 42;
	reader.command = "victim";
	reader.now_ms = track_now();

	answered all = {slab_inspect(&reader, root, request.c_str(), &answer), ""};

	if (answer.text) {
		EXPECT_EQ(std::strlen(answer.text), answer.length);
		EXPECT_EQ(answer.text[answer.length - 1], '\n');
		all.text = std::string(answer.text, answer.length - 1);
	}
	slab_answer_free(&answer);
	return all;
}

/* The object of `json` that begins with this member, up to its first list. */
std::string from_member(const std::string &json, const std::string &member)
{
	const std::size_t at = json.find(member);

	return at == std::string::npos ? "" : json.substr(at, json.find("\"events\"", at) - at);
}

std::string number(const char *key, std::uint64_t value)
{
	return "\"" + std::string(key) + "\":" + std::to_string(value) + ",";
}

void expect_has(const std::string &text, const std::string &part)
{
	EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}

TEST(InspectTest, NumbersAreThoseThatTheProcessHasOfItself)
{
	test_cache cache(200);
	const objects held(cache, 1000);
	const struct slab_stats stats = stats_of(cache);
	const answered all = inspect("stats");
	const std::string mine = from_member(all.text, "\"name\":\"" + cache.name() + "\"");

	ASSERT_EQ(all.result, 0) << all.text;
	ASSERT_NE(mine, "");
	expect_has(mine, number("objects", stats.objects));
	expect_has(mine, number("slabs", stats.slabs));
	expect_has(mine, number("cpu_slabs", stats.cpu_slabs));
	expect_has(mine, number("partial", stats.partial));
	expect_has(mine, number("full", stats.full));
	expect_has(mine, number("populated", stats.populated));
	expect_has(all.text, "\"pid\":42,\"command\":\"victim\"");
}

TEST(InspectTest, SlabsAreAsManyAndHoldAsMuchAsTheStatisticsSay)
{
	test_cache cache(2000);
	const objects held(cache, 500);
	const answered all = inspect("slabs " + cache.name());
	const struct slab_stats stats = stats_of(cache);

	ASSERT_EQ(all.result, 0) << all.text;
	expect_has(all.text, "\"total\":" + std::to_string(stats.slabs) + "}");
	expect_has(all.text, "\"full\",-1,0,\"-\"]");
	expect_has(all.text, "\"current\",");
}

TEST(InspectTest, SlabsWithLettersSaySo)
{
	test_cache cache(100, SLAB_RED_ZONE | SLAB_STORE_USER);
	const objects held(cache, 10);

	expect_has(inspect("slabs " + cache.name()).text, ",\"debug\",-1,0,\"ZU\"]");
}

TEST(InspectTest, StacksAreReadFromMemory)
{
	test_cache cache(100, SLAB_STORE_USER);
	const objects held(cache, 10);
	const answered all = inspect("traces allocated 0 " + cache.name());

	ASSERT_EQ(all.result, 0) << all.text;
	expect_has(all.text, "\"count\":10,");
	expect_has(all.text, "\"stack\":[{\"address\":");
	expect_has(all.text, "\"tracked\":true");
}

TEST(InspectTest, RequestsThatAreNotForReadingAreRefused)
{
	const answered all = inspect("shrink entry");

	EXPECT_EQ(all.result, -EINVAL);
	EXPECT_EQ(all.text,
		  "{\"slab\":1,\"ok\":false,\"error\":\"\\\"shrink entry\\\" cannot be read from "
		  "memory; that can be: ping, stats, slabs, traces\"}");
}

TEST(InspectTest, AnUnknownCacheIsNamed)
{
	const answered all = inspect("slabs enrty");

	EXPECT_EQ(all.result, -ENOENT);
	EXPECT_EQ(all.text,
		  "{\"slab\":1,\"ok\":false,\"error\":\"no cache is called \\\"enrty\\\"\"}");
}

TEST(InspectTest, AnAddressThatIsNoRootIsToldFromOneThatCannotBeRead)
{
	static const char zeros[sizeof(slab_root)] __attribute__((aligned(8))) = {};
	const answered none = inspect(
		"stats", [](char *, std::size_t) { return true; },
		reinterpret_cast<std::uint64_t>(zeros));
	const answered nowhere = inspect("stats", [](char *, std::size_t) { return true; }, 4096);

	EXPECT_EQ(none.result, -EPROTO);
	expect_has(none.text, "process 42 (victim) has no libslab that is known here");
	EXPECT_EQ(nowhere.result, -EFAULT);
	expect_has(nowhere.text, "the memory of process 42 (victim) could not be read");
}

TEST(InspectTest, AnotherLayoutIsRefusedWithBothVersions)
{
	struct slab_root other = slab_root;

	other.layout[20]++;
	std::strcpy(other.version, "9.8.7");

	const answered all = inspect(
		"stats", [](char *, std::size_t) { return true; },
		reinterpret_cast<std::uint64_t>(&other));

	EXPECT_EQ(all.result, -EPROTO);
	expect_has(all.text, "process 42 (victim) has libslab 9.8.7 of another build than this");
}

TEST(InspectTest, ReadsThatFailAnywhereFailTheWhole)
{
	test_cache cache(100, SLAB_STORE_USER);
	const objects held(cache, 100);
	const std::string request = "traces allocated 0 " + cache.name();
	long reads = 0;

	ASSERT_EQ(inspect(request, [&](char *, std::size_t) { return ++reads; }).result, 0);
	for (long last = 0; last < reads; last++) {
		long n = 0;
		const answered all =
			inspect(request, [&](char *, std::size_t) { return n++ < last; });

		/* Without its frames a site is still a site. */
		EXPECT_TRUE(all.result == -EFAULT || all.result == 0) << last;
	}
}

/* Flip bits in what is read, more and more often. */
TEST(InspectTest, MemoryThatLiesEndsInAnAnswerOrARefusal)
{
	test_cache plain(64), lettered(100, SLAB_RED_ZONE | SLAB_STORE_USER);
	const objects many(plain, 5000), few(lettered, 300);
	std::mt19937_64 random(20261121);
	unsigned answers = 0, refusals = 0;

	for (unsigned round = 0; round < 600; round++) {
		const std::uint64_t rarity = UINT64_C(1) << random() % 14;
		const char *requests[] = {"stats", "slabs ", "traces allocated 0 "};
		const std::string request = requests[round % 3];
		const std::string name = round % 3 ? lettered.name() : "";
		const answered all = inspect(request + name, [&](char *bytes, std::size_t size) {
			if (random() % rarity == 0)
				bytes[random() % size] ^= static_cast<char>(1 << random() % 8);
			return true;
		});

		answers += all.result == 0;
		refusals += all.result != 0;
		EXPECT_TRUE(all.result == -ENOMEM || all.text.front() == '{');
	}
	EXPECT_GT(answers, 50u);
	EXPECT_GT(refusals, 50u);
}

TEST(InspectTest, ABusyProcessIsReadWithoutStoppingIt)
{
	test_cache cache(64);
	std::atomic<bool> stop{false};
	std::thread worker([&] {
		while (!stop) {
			const objects held(cache, 3000);
			test_cache brief(48);
		}
	});

	for (unsigned i = 0; i < 300; i++) {
		const answered all = inspect("stats");

		EXPECT_EQ(all.result, 0) << all.text;
		expect_has(all.text, "\"name\":\"" + cache.name() + "\"");
	}
	stop = true;
	worker.join();
}

} // namespace
