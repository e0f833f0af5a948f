/* SPDX-License-Identifier: MIT */
/* Handlers that threads read while others replace them. */
#include "../support/stress.h"
#include "../support/rooms.h"

namespace
{

void first() {}
void second() {}
void third() {}

/* Three handlers in turn: with each number of slots but a multiple of three, another one comes to
 * the slot of the one before. */
struct handler handlers[] = {{first, &handlers[0]}, {second, &handlers[1]}, {third, &handlers[2]}};

void set_any(struct handler_ring *ring, unsigned n)
{
	handler_set(ring, handlers[n % 3].fn, handlers[n % 3].arg);
}

bool is_whole(const struct handler &handler)
{
	return static_cast<struct handler *>(handler.arg)->fn == handler.fn;
}

struct handler_ring interrupted;

void replace_many(int)
{
	for (unsigned n = 0; n < 100; n++)
		set_any(&interrupted, n);
}

/* Reads for this time; returns the number of handlers with another one's argument. */
unsigned long count_mixed(const struct handler_ring *ring, std::chrono::milliseconds time)
{
	const auto end = std::chrono::steady_clock::now() + time;
	unsigned long mixed = 0;

	while (std::chrono::steady_clock::now() < end) {
		struct handler handler;

		EXPECT_TRUE(handler_get(ring, &handler));
		mixed += !is_whole(handler);
	}
	return mixed;
}

TEST(PublishedTest, AReaderThatIsInterruptedGetsAHandlerWithItsOwnArgument)
{
	const struct itimerval often = {{0, 100}, {0, 100}}, never = {};

	set_any(&interrupted, 0);
	std::signal(SIGALRM, replace_many);
	ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
	EXPECT_EQ(count_mixed(&interrupted, std::chrono::milliseconds(500)), 0u);
	ASSERT_EQ(setitimer(ITIMER_REAL, &never, nullptr), 0);
	std::signal(SIGALRM, SIG_DFL);
}

class PublishTest : public testing::Test
{
protected:
	PublishTest()
	{
		set_any(&ring_, 0);
		for (unsigned i = 0; i < 4; i++)
			writers_.emplace_back([this, i] {
				for (unsigned n = i; !stop_; n++)
					set_any(&ring_, n);
			});
	}

	void TearDown() override
	{
		stop_ = true;
		join_all(writers_);
	}

	struct handler_ring ring_ = {};

private:
	std::atomic<bool> stop_{false};
	std::vector<std::thread> writers_;
};

TEST_F(PublishTest, AReaderGetsAHandlerWithItsOwnArgument)
{
	EXPECT_EQ(count_mixed(&ring_, stress_time()), 0u);
}

TEST_F(PublishTest, AChildOfAForkReplacesHandlers)
{
	/* libslab's fork hooks are there with the first cache. */
	struct slab_cache *cache = slab_cache_create("forks", 64, nullptr, 0);

	for (int i = 0; i < 100; i++) {
		const pid_t child = fork();
		int status = 0;

		if (!child) {
			alarm(60);
			set_any(&ring_, 1);
			_exit(0);
		}
		ASSERT_EQ(waitpid(child, &status, 0), child);
		ASSERT_EQ(status, 0) << "fork " << i;
	}
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

} /* namespace */
