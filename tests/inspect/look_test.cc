/* SPDX-License-Identifier: MIT */
/*
 * Every request, answered over and over while other threads allocate and free blocks of all sizes
 * and create and destroy caches with reserves: those that read as another program answers them, the
 * others as the control socket does. How long each test works is SLAB_STRESS_SECONDS, 2 by default.
 */
#include "../support/objects.h"
#include "../support/stress.h"
#include "inspection.h"

namespace
{

constexpr unsigned allocators = 5, creators = 2; /* the eighth thread looks */

/* As another program reads it, which `fail` does not refuse memory. */
std::string read_answer(const std::string &request)
{
	answered answer;

	do
		answer = inspect(request);
	while (answer.result == -ENOMEM);
	return answer.text;
}

std::string answer_to(const std::string &request)
{
	static const std::set<std::string> reads = {"stats",   "slabs",   "traces",
						    "objects", "regions", "waste"};
	struct slab_json json = {};

	if (request == "profile" || reads.count(request.substr(0, request.find(' '))))
		return read_answer(request);

	slab_control_answer(&json, ("slab/2 " + request).c_str(), true);

	std::string text = json.text ? std::string(json.text, json.len) : "";

	slab_json_free(&json);
	return text;
}

/* A size of 1 byte to 64 MiB; each power of two is as likely as the others. */
std::size_t any_size(std::mt19937 &random)
{
	const std::size_t most = std::size_t(1) << random() % 27;

	return 1 + random() % most;
}

class LookTest : public testing::Test
{
protected:
	void TearDown() override
	{
		answer_to("profile 0");
		answer_to("fail ");
		answer_to("count 0");
	}

	/* The threads run until the time is over; this one calls `look` meanwhile. */
	void look_while(const std::function<void(std::mt19937 &, std::size_t)> &look)
	{
		const unsigned seed = std::random_device()();
		const auto end = std::chrono::steady_clock::now() + stress_time();
		std::mt19937 random(seed);
		std::vector<std::thread> threads;

		std::printf("seed %u\n", seed);
		std::fflush(stdout); /* before it dies, if it does */
		for (unsigned i = 0; i < allocators; i++)
			threads.emplace_back([this, seed, i] { allocate(seed + i); });
		for (unsigned i = 0; i < creators; i++)
			threads.emplace_back([this, seed, i] { create(seed + 100 + i, i); });
		for (std::size_t n = 0; std::chrono::steady_clock::now() < end; n++)
			look(random, n);
		stop_ = true;
		join_all(threads);
	}

	test_cache cache_{64}, tracked_{100, SLAB_STORE_USER};

private:
	void allocate(unsigned seed)
	{
		std::mt19937 random(seed);
		std::vector<char *> blocks(8);

		while (!stop_) {
			char *&block = blocks[random() % blocks.size()];
			const std::size_t size = any_size(random);

			if (random() % 4) {
				slab_mfree(block);
				block = static_cast<char *>(slab_malloc(size));
			} else if (void *moved = slab_realloc(block, size)) {
				block = static_cast<char *>(moved);
			}
			slab_free(tracked_, slab_alloc(tracked_));
		}
		for (char *block : blocks)
			slab_mfree(block);
	}

	void create(unsigned seed, unsigned number)
	{
		const std::string name = "look" + std::to_string(number);
		std::mt19937 random(seed);
		struct slab_cache_args args = {};

		while (!stop_) {
			args.reserve = 1 + random() % 3000;
			struct slab_cache *cache = slab_cache_create(name.c_str(), 32, &args, 0);

			EXPECT_EQ(slab_cache_destroy(cache), 0); /* NULL: it failed on purpose */
		}
	}

	std::atomic<bool> stop_{false};
};

TEST_F(LookTest, EveryRequestIsAnswered)
{
	const std::string names[] = {cache_.name(), tracked_.name(), "look0", "look1", "size-64"};
	const std::vector<std::string> requests = {"ping",
						   "stats",
						   "slabs ",
						   "shrink ",
						   "validate ",
						   "debug ZPU ",
						   "debug - ",
						   "traces allocated 0 ",
						   "traces freed 0 ",
						   "objects",
						   "objects ",
						   "regions",
						   "waste",
						   "mark",
						   "sample 3 ",
						   "sample 0 ",
						   "profile",
						   "profile 10000",
						   "profile 0",
						   "fail probability=1,interval=10,times=100",
						   "fail ",
						   "set min_partial 3 ",
						   "reset ",
						   "trim",
						   "count 1000"};

	look_while([&](std::mt19937 &random, std::size_t n) {
		const std::string &request = requests[n % requests.size()];
		const std::string name =
			request.back() == ' ' ? names[random() % std::size(names)] : "";

		EXPECT_EQ(answer_to(request + name).find("{\"slab\":2,\"ok\":"), 0u)
			<< request << name;
	});
}

} /* namespace */
