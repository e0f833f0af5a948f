/* SPDX-License-Identifier: MIT */
/*
 * Allocations that never fail: the handler that may find memory, and the one line with which the
 * process ends when it does not.
 */
#include <slab/define.h>
#include <slab/nofail.h>

#include "../support/limits.h"
#include "../support/process.h"

namespace
{

struct message {
	char text[200];
};
SLAB_DEFINE_CACHE(nofail_message, struct message);

constexpr std::size_t limit = 64 << 10;

struct slab_cache_args limited()
{
	struct slab_cache_args args = {};

	args.limit = limit;
	return args;
}
const struct slab_cache_args limited_args = limited();

/* What a handler was told, and how often. */
struct call {
	std::string function, cache, reason;
	std::size_t size;
	unsigned long tries;
};

class NofailTest : public testing::Test
{
protected:
	NofailTest() : cache_(slab_cache_create("nofail", 64, &limited_args, 0))
	{
		use_threadsafe_death_tests();
	}

	~NofailTest() override
	{
		slab_set_oom_handler(nullptr, nullptr);
		slab_set_fail(nullptr);
		slab_set_limit(0);
		free_many(cache_, objs_);
		EXPECT_EQ(slab_cache_destroy(cache_), 0);
	}

	/* Take all objects that the limit allows. */
	void fill_up()
	{
		while (void *obj = slab_alloc(cache_))
			objs_.push_back(obj);
	}

	/* Keep the call in mind, and give memory back at call `number`. */
	template <typename Release> void release_at(unsigned number, Release release)
	{
		at_ = number;
		release_ = release;
		slab_set_oom_handler(handle, this);
	}

	void free_one()
	{
		slab_free(cache_, objs_.back());
		objs_.pop_back();
	}

	static bool handle(const struct slab_oom *oom, void *arg)
	{
		auto *self = static_cast<NofailTest *>(arg);

		EXPECT_EQ(oom->struct_size, sizeof(*oom));
		self->calls_.push_back({oom->function, oom->cache ? oom->cache : "", oom->reason,
					oom->size, oom->tries});
		if (self->calls_.size() == self->at_)
			self->release_();
		return true;
	}

	struct slab_cache *cache_; /* of the same name in the child of a death test */
	std::vector<void *> objs_;
	std::vector<call> calls_;
	unsigned at_ = 0;
	std::function<void()> release_;
};

/* --- the handler finds memory ------------------------------------------------------------ */

TEST_F(NofailTest, AllocatesAsSlabAllocDoes)
{
	for (int i = 0; i < 500; i++) {
		void *obj = slab_alloc_nofail(cache_);

		EXPECT_EQ(slab_cache_of(obj), cache_);
		fill(obj, 64, 1);
		objs_.push_back(obj);
	}
	EXPECT_TRUE(all_distinct(objs_));
}

TEST_F(NofailTest, TheHandlerIsNotCalledWhileThereIsMemory)
{
	release_at(1, [] {});
	slab_free(cache_, slab_alloc_nofail(cache_));
	void *memory = slab_ch_malloc(100);
	slab_ch_free(&memory);
	EXPECT_TRUE(calls_.empty());
}

TEST_F(NofailTest, TheAllocationIsTriedAgainAfterTheHandler)
{
	fill_up();
	release_at(1, [this] { free_one(); });
	void *obj = slab_alloc_nofail(cache_);
	ASSERT_NE(obj, nullptr);
	objs_.push_back(obj);
	ASSERT_EQ(calls_.size(), 1u);
	EXPECT_EQ(calls_[0].function, "slab_alloc_nofail");
	EXPECT_EQ(calls_[0].cache, "nofail");
	EXPECT_EQ(calls_[0].reason, "the cache has reached its limit");
	EXPECT_EQ(calls_[0].size, 64u);
	EXPECT_EQ(calls_[0].tries, 0u);
}

TEST_F(NofailTest, TheHandlerIsCalledUntilThereIsMemory)
{
	fill_up();
	release_at(4, [this] { free_one(); });
	objs_.push_back(slab_alloc_nofail(cache_));
	ASSERT_EQ(calls_.size(), 4u);
	for (unsigned long i = 0; i < 4; i++)
		EXPECT_EQ(calls_[i].tries, i);
}

TEST_F(NofailTest, InjectedFailuresCallIt)
{
	release_at(3, [] { slab_set_fail(nullptr); });
	ASSERT_EQ(slab_set_fail("interval=1,cache=nofail"), 0);
	objs_.push_back(slab_alloc_nofail(cache_));
	ASSERT_EQ(calls_.size(), 3u);
	EXPECT_EQ(calls_[0].reason, "out of memory");
}

TEST_F(NofailTest, SuccessLeavesErrnoAlone)
{
	errno = 4711;
	objs_.push_back(slab_alloc_nofail(cache_));
	EXPECT_EQ(errno, 4711);
	fill_up();
	release_at(2, [this] { free_one(); });
	errno = 4711;
	objs_.push_back(slab_alloc_nofail(cache_));
	EXPECT_EQ(errno, 4711);
}

TEST_F(NofailTest, TheReserveComesFirst)
{
	struct slab_cache_args args = limited_args;

	args.reserve = 5;
	test_cache cache(64, 0, &args);
	std::vector<void *> all;
	release_at(1, [&] {
		for (void *obj : all)
			slab_free(cache, obj);
		all.clear();
	});
	while (stats_of(cache).reserve_left > 1)
		all.push_back(slab_alloc_nofail(cache));
	EXPECT_TRUE(calls_.empty());
	free_many(cache, all);
}

/* The process has a limit, and the handler an emergency buffer. */
TEST_F(NofailTest, MemoryBySizeCallsIt)
{
	constexpr std::size_t mib = 1 << 20;
	void *buffer = slab_malloc(8 * mib), *memory = slab_ch_malloc(100);
	const auto full_again = [&] {
		calls_.clear();
		if (!buffer) {
			slab_set_limit(0);
			buffer = slab_malloc(8 * mib);
		}
		slab_set_limit(used_bytes() + 4096);
	};

	release_at(1, [&buffer] {
		slab_mfree(buffer);
		buffer = nullptr;
	});
	const auto expect_call = [&](const std::string &function) {
		ASSERT_EQ(calls_.size(), 1u) << function;
		EXPECT_EQ(calls_[0].function, function);
		EXPECT_EQ(calls_[0].cache, "");
		EXPECT_EQ(calls_[0].size, 4 * mib);
		EXPECT_EQ(calls_[0].reason, "the process has reached its limit");
		slab_ch_free(&memory);
		memory = nullptr;
	};
	slab_ch_free(&memory);
	full_again();
	memory = slab_ch_malloc(4 * mib);
	expect_call("slab_ch_malloc");
	full_again();
	memory = slab_ch_calloc(4, mib);
	expect_call("slab_ch_calloc");
	full_again();
	memory = slab_ch_realloc(nullptr, 4 * mib);
	expect_call("slab_ch_realloc");
	full_again();
	memory = slab_ch_memalign(4096, 4 * mib);
	expect_call("slab_ch_memalign");
	full_again();
	std::string text(4 * mib - 1, 's');
	memory = slab_ch_strdup(text.c_str());
	expect_call("slab_ch_malloc");
	slab_set_limit(0);
	slab_mfree(buffer);
}

/* Handles come by the block, so only some creations find no memory. */
TEST_F(NofailTest, TheCreationOfACacheWithPanicCallsIt)
{
	for (int i = 0; i < 200 && calls_.empty(); i++) {
		release_at(1, [] { slab_set_fail(nullptr); });
		ASSERT_EQ(slab_set_fail("interval=1"), 0);
		struct slab_cache *cache = slab_cache_create(("panic-" + std::to_string(i)).c_str(),
							     64, nullptr, SLAB_PANIC);
		ASSERT_NE(cache, nullptr);
		slab_set_fail(nullptr);
	}
	ASSERT_EQ(calls_.size(), 1u);
	EXPECT_EQ(calls_[0].function, "slab_cache_create");
	EXPECT_EQ(calls_[0].cache.compare(0, 6, "panic-"), 0);
	EXPECT_EQ(calls_[0].reason, "out of memory");
}

TEST_F(NofailTest, DefinedCachesHaveIt)
{
	struct message *first = nofail_message_alloc_nofail();

	ASSERT_EQ(slab_set_fail("interval=1,cache=nofail_message"), 0);
	release_at(2, [] { slab_set_fail(nullptr); });
	struct message *second = nofail_message_alloc_nofail();
	ASSERT_EQ(calls_.size(), 2u);
	EXPECT_EQ(calls_[0].cache, "nofail_message");
	nofail_message_free(first);
	nofail_message_free(second);
	EXPECT_EQ(stats_of(nofail_message_cache()).objects, 0u);
}

TEST_F(NofailTest, AChildOfAForkHasTheHandler)
{
	fill_up();
	release_at(1, [this] { free_one(); });
	EXPECT_IN_CHILD([this] {
		objs_.push_back(slab_alloc_nofail(cache_));
		return objs_.back() && calls_.size() == 1 ? 0 : 1;
	});
}

/* --- the process ends -------------------------------------------------------------------- */

class NofailDeathTest : public NofailTest
{
protected:
	NofailDeathTest() { fill_up(); }

	/* The last line on the child's stderr; before it stands who holds the memory. */
	static testing::Matcher<const std::string &> line(const std::string &text)
	{
		std::string pattern = "libslab: ";

		for (char letter : text)
			pattern += std::strchr("()", letter) ? std::string("\\") + letter
							     : std::string(1, letter);
		return testing::ContainsRegex(pattern + "\n$");
	}
};

TEST_F(NofailDeathTest, WithoutAHandlerOneLineSaysWhy)
{
	EXPECT_DEATH(
		objs_.push_back(slab_alloc_nofail(cache_)),
		line("slab_alloc_nofail(nofail, 64 bytes) failed: the cache has reached its limit"));
	slab_set_fail("interval=1,cache=*");
	EXPECT_DEATH(objs_.push_back(slab_ch_malloc(1000)),
		     line("slab_ch_malloc(1 x 1000 bytes) failed: out of memory"));
	EXPECT_DEATH(objs_.push_back(slab_ch_calloc(10, 300)),
		     line("slab_ch_calloc(10 x 300 bytes) failed: out of memory"));
	EXPECT_DEATH(objs_.push_back(nofail_message_alloc_nofail()),
		     line("slab_alloc_nofail(nofail_message, 200 bytes) failed: out of memory"));
}

TEST_F(NofailDeathTest, AHandlerThatGivesUpEndsIt)
{
	slab_set_oom_handler([](const struct slab_oom *, void *) { return false; }, nullptr);
	EXPECT_DEATH(
		objs_.push_back(slab_alloc_nofail(cache_)),
		line("slab_alloc_nofail(nofail, 64 bytes) failed: the cache has reached its limit"));
}

TEST_F(NofailDeathTest, AHandlerMayEndTheProcessItself)
{
	slab_set_oom_handler([](const struct slab_oom *, void *) -> bool { _exit(3); }, nullptr);
	EXPECT_EXIT(objs_.push_back(slab_alloc_nofail(cache_)), testing::ExitedWithCode(3), "");
}

TEST_F(NofailDeathTest, AFailureWithinTheHandlerEndsIt)
{
	slab_set_oom_handler(
		[](const struct slab_oom *, void *arg) {
			void *obj = slab_alloc_nofail(static_cast<struct slab_cache *>(arg));

			return obj != nullptr;
		},
		cache_);
	EXPECT_DEATH(
		objs_.push_back(slab_alloc_nofail(cache_)),
		line("slab_alloc_nofail(nofail, 64 bytes) failed: the cache has reached its limit"));
}

TEST_F(NofailDeathTest, AnImpossibleSizeEndsItAtOnce)
{
	slab_set_oom_handler([](const struct slab_oom *, void *) { return true; }, nullptr);
	EXPECT_DEATH(objs_.push_back(slab_ch_calloc(opaque(no_size), 16)),
		     line("slab_ch_calloc(" + std::to_string(no_size) +
			  " x 16 bytes) failed: out of memory"));
}

TEST_F(NofailDeathTest, ADestroyedCacheEndsItAtOnce)
{
	struct slab_cache *gone = slab_cache_create("nofail-gone", 64, nullptr, 0);

	ASSERT_EQ(slab_cache_destroy(gone), 0);
	slab_set_oom_handler([](const struct slab_oom *, void *) { return true; }, nullptr);
	EXPECT_DEATH(
		objs_.push_back(slab_alloc_nofail(gone)),
		"BUG nofail-gone: Allocation from a destroyed cache\n(.|\n)*\n"
		"libslab: slab_alloc_nofail\\(nofail-gone, 64 bytes\\) failed: Invalid argument\n$");
}

} /* namespace */
