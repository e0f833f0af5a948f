/* SPDX-License-Identifier: MIT */
/* Inspections while caches are created and destroyed: each is seen once at most. */
#include "../support/objects.h"
#include "../support/process.h"
#include "inspection.h"

namespace
{

TEST(InspectTest, EachOfManyCachesHasItsOwnNumbers)
{
	constexpr unsigned n = 300;
	std::vector<struct slab_cache *> caches;
	std::vector<std::vector<void *>> held;

	for (unsigned i = 0; i < n; i++) {
		const std::string name = "many-" + std::to_string(i);

		caches.push_back(slab_cache_create(name.c_str(), 64, nullptr, 0));
		held.push_back(alloc_many(caches[i], i + 1));
	}

	const answered all = inspect("stats");

	for (unsigned i = 0; i < n; i++) {
		expect_has(from_member(all.text, "\"name\":\"many-" + std::to_string(i) + "\""),
			   number("objects", i + 1));
		free_many(caches[i], held[i]);
		EXPECT_EQ(slab_cache_destroy(caches[i]), 0);
	}
}

/* They have one stack: the call site counts in each cache for itself. */
TEST(InspectTest, CallSitesOfManyCachesAreKeptApart)
{
	constexpr unsigned n = 300;
	std::vector<std::unique_ptr<test_cache>> caches;
	std::vector<std::unique_ptr<objects>> held;

	for (unsigned i = 0; i < n; i++) {
		caches.push_back(std::make_unique<test_cache>(64, SLAB_STORE_USER));
		held.push_back(std::make_unique<objects>(*caches[i], i + 1));
	}

	const std::string text = inspect("traces allocated 0").text;

	for (unsigned i = 0; i < n; i++) {
		const std::size_t at = text.find("\"name\":\"" + caches[i]->name() + "\"");

		ASSERT_NE(at, std::string::npos);
		expect_has(text.substr(at, text.find("\"waste\"", at) - at),
			   "\"sites\":[{" + number("count", i + 1));
	}
}

struct cache_in_use {
	test_cache cache{64, SLAB_STORE_USER};
	objects held{cache, 1};
};

/* A request about all caches loads each of them once, and scans all slabs once. */
TEST(InspectTest, ReadsGrowInProportionToTheCaches)
{
	std::vector<std::unique_ptr<cache_in_use>> caches;
	const auto reads_with = [&](const char *request, std::size_t n) {
		std::size_t reads = 0;

		for (; caches.size() < n; caches.push_back(std::make_unique<cache_in_use>()))
			;
		EXPECT_EQ(inspect(request, [&](char *, std::size_t) { return ++reads; }).result, 0);
		return reads;
	};

	for (const char *request :
	     {"stats", "slabs", "validate", "objects", "waste", "traces allocated 0"}) {
		caches.clear();

		const std::size_t none = reads_with(request, 0), some = reads_with(request, 100);
		const std::size_t many = reads_with(request, 400);

		EXPECT_GT(some, none + 100) << request;
		EXPECT_LT(many - none, 5 * (some - none)) << request;
	}
}

/* In a child, with which they all end. */
TEST(InspectTest, MoreCachesThanSixteenBitsCountAreShown)
{
	if (under_tsan)
		GTEST_SKIP() << "half a minute, and no threads";
	EXPECT_EQ(run_in_child([] {
			  struct slab_cache *cache = nullptr;
			  unsigned created = 0, shown = 0;

			  for (; created < 65600; created++)
				  cache = slab_cache_create(("n" + std::to_string(created)).c_str(),
							    64, nullptr, 0);
			  if (!slab_alloc(cache))
				  return 1;
			  const std::string text = inspect("stats").text, name = "\"name\":\"n";

			  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;
			       at++)
				  shown++;
			  return shown == created && from_member(text, name + "65599\"")
								     .find(number("slabs", 1)) !=
							     std::string::npos
					 ? 0
					 : 2;
		  }),
		  "");
}

/* Caches of which some are destroyed and created again all the time, one at a time. */
class renewed_caches
{
public:
	static constexpr unsigned n = 200;

	renewed_caches()
	{
		for (unsigned i = 0; i < n; i++)
			caches_.push_back(create(i));
		thread_ = std::thread([this] {
			std::mt19937 random(1);

			while (!stop_) {
				const unsigned i = static_cast<unsigned>(random() % n);

				if (stays(i))
					continue;
				EXPECT_EQ(slab_cache_destroy(caches_[i]), 0);
				caches_[i] = create(i);
			}
		});
	}

	~renewed_caches()
	{
		stop_ = true;
		thread_.join();
		for (struct slab_cache *cache : caches_)
			EXPECT_EQ(slab_cache_destroy(cache), 0);
	}

	renewed_caches(const renewed_caches &) = delete;
	renewed_caches &operator=(const renewed_caches &) = delete;

	static bool stays(unsigned i) { return i % 10 == 0; }

	static std::string name(unsigned i) { return "renewed-" + std::to_string(i); }

private:
	static struct slab_cache *create(unsigned i)
	{
		return slab_cache_create(name(i).c_str(), 64, nullptr, 0);
	}

	std::vector<struct slab_cache *> caches_;
	std::atomic<bool> stop_{false};
	std::thread thread_;
};

std::size_t occurrences(const std::string &text, const std::string &part)
{
	std::size_t n = 0;

	for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at++)
		n++;
	return n;
}

TEST(InspectTest, NoCacheIsMissedWhileOthersComeAndGo)
{
	const renewed_caches caches;

	for (unsigned round = 0; round < 100 && !HasFailure(); round++)
		EXPECT_GE(process_stats().caches, caches.n - 1);
}

TEST(InspectTest, CachesThatComeAndGoAreSeenFromOutsideOnceAtMost)
{
	const renewed_caches caches;

	for (unsigned round = 0; round < 3 && !HasFailure(); round++) {
		answered all = inspect("stats");

		/* On a busy machine the list may change during each attempt. */
		while (all.result == -EAGAIN)
			all = inspect("stats");
		ASSERT_EQ(all.result, 0) << all.text;
		for (unsigned i = 0; i < caches.n; i++) {
			const std::string name = "\"name\":\"" + caches.name(i) + "\"";
			const std::size_t seen = occurrences(all.text, name);

			EXPECT_LE(seen, 1u) << name;
			EXPECT_TRUE(seen == 1 || !caches.stays(i)) << name;
		}
	}
}

bool is_copy_of(const char *bytes, std::size_t size, const std::string &name)
{
	return size == sizeof(struct slab_cache) &&
	       name == reinterpret_cast<const struct slab_cache *>(bytes)->name;
}

/* Caches in the order of their creation, of which the first is renewed: then it is last. */
struct queue_of_caches {
	explicit queue_of_caches(unsigned n)
	{
		for (unsigned i = 0; i < n; i++)
			caches.push_back(create("queued-" + std::to_string(i)));
	}

	~queue_of_caches()
	{
		for (struct slab_cache *cache : caches)
			EXPECT_EQ(slab_cache_destroy(cache), 0);
	}

	static struct slab_cache *create(const std::string &name)
	{
		return slab_cache_create(name.c_str(), 64, nullptr, 0);
	}

	bool renew_first()
	{
		const std::string name = slab_cache_name(caches.front());

		EXPECT_EQ(slab_cache_destroy(caches.front()), 0);
		caches.erase(caches.begin());
		caches.push_back(create(name));
		return true;
	}

	std::vector<struct slab_cache *> caches;
};

TEST(InspectTest, AListThatBreaksOffEachTimeIsRefused)
{
	test_cache before(64);
	queue_of_caches queue(3);
	const answered all = inspect("stats", [&](char *bytes, std::size_t size) {
		/* Its link to the next cache is wrong from now on. */
		return !is_copy_of(bytes, size, before.name()) || queue.renew_first();
	});

	EXPECT_EQ(all.result, -EAGAIN);
	expect_has(all.text, "the list of caches of process 42 (victim) changed each time that it "
			     "was read, or is damaged");
}

TEST(InspectTest, AListThatChangesWithoutGapsIsTakenWithEachCacheOnce)
{
	queue_of_caches queue(40);
	test_cache behind(64), last(64);
	const answered all = inspect("stats", [&](char *bytes, std::size_t size) {
		/* Those in front of this one were seen, and will be seen again. */
		return !is_copy_of(bytes, size, behind.name()) || queue.renew_first();
	});

	ASSERT_EQ(all.result, 0) << all.text;
	for (struct slab_cache *cache : queue.caches)
		EXPECT_EQ(occurrences(all.text,
				      "\"name\":\"" + std::string(slab_cache_name(cache)) + "\""),
			  1u);
	expect_has(all.text, "\"name\":\"" + last.name() + "\"");
}

/* Its copy has the link that a free handle has: none. */
TEST(InspectTest, ACacheThatGoesDuringItsCopyDoesNotEndTheList)
{
	queue_of_caches queue(3);
	unsigned renewed = 0;
	const answered all = inspect("stats", [&](char *bytes, std::size_t size) {
		/* A walk without gaps is accepted after some tries. */
		if (renewed < 20 &&
		    is_copy_of(bytes, size, slab_cache_name(queue.caches.front()))) {
			renewed++;
			reinterpret_cast<struct slab_cache *>(bytes)->next = nullptr;
			return queue.renew_first();
		}
		return true;
	});

	ASSERT_EQ(all.result, 0) << all.text;
	for (struct slab_cache *cache : queue.caches)
		expect_has(all.text, "\"name\":\"" + std::string(slab_cache_name(cache)) + "\"");
}

TEST(InspectTest, ADamagedListOfCachesIsRefused)
{
	test_cache before(64), damaged(64), after(64);
	const answered all = inspect("stats", [&](char *bytes, std::size_t size) {
		if (is_copy_of(bytes, size, damaged.name()))
			reinterpret_cast<struct slab_cache *>(bytes)->magic++;
		return true;
	});

	EXPECT_EQ(all.result, -EAGAIN);
}

} /* namespace */
