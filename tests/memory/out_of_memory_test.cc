/* SPDX-License-Identifier: MIT */
/* Nothing is lost wherever memory runs out. */
#include "../support/limits.h"
#include "../support/process.h"
#include "../support/units.h"

namespace
{

/* No process has so many addresses. */
constexpr std::size_t beyond_addresses = (std::size_t{1} << 47) + 1;
std::uint64_t used_when_asked; /* the most bytes in use when the system was asked for them */

} /* namespace */

/* ThreadSanitizer calls it before it can itself be called. */
#if !defined(__SANITIZE_THREAD__)
extern "C" void *mmap(void *start, std::size_t bytes, int access, int flags, int fd,
		      off_t offset) noexcept
{
	if (bytes >= beyond_addresses)
		used_when_asked = std::max(used_when_asked, account_used());
	return reinterpret_cast<void *>(syscall(SYS_mmap, start, bytes, access, flags, fd, offset));
}
#endif

namespace
{

/* Two names for one cache, samples, stacks and what is read of them. */
void use_names_and_samples()
{
	struct slab_cache *caches[] = {slab_cache_create("one", 72, nullptr, 0),
				       slab_cache_create("other", 72, nullptr, 0)};

	for (struct slab_cache *cache : caches) {
		if (!cache) {
			EXPECT_EQ(errno, ENOMEM);
			continue;
		}
		slab_cache_sample(cache, 1);
		EXPECT_EQ(slab_cache_debug(cache, SLAB_STORE_USER), 0);

		void *obj = slab_alloc(cache);

		slab_cache_traces(
			cache, SLAB_TRACES_ALLOCATED, 0,
			[](const struct slab_call_site *, void *) { return 0; }, nullptr);
		slab_free(cache, obj);
		slab_cache_sample(cache, 0);
		EXPECT_EQ(slab_cache_validate(cache), 0);
		EXPECT_EQ(slab_cache_destroy(cache), 0);
	}
}

/* Something of everything that takes memory; whatever of it fails is left out. */
void use_everything()
{
	struct slab_cache_args args = {};
	std::map<void *, std::size_t> large;
	std::vector<void *> objects, more(300);
	struct slab_cache *cache;
	std::size_t got;

	use_names_and_samples();
	args.reserve = 20;
	args.limit = 16 * mib;
	args.reclaim = [](struct slab_cache *, void *) -> std::size_t { return 0; };
	cache = slab_cache_create("everything", 2000, &args, 0);
	if (!cache) {
		EXPECT_EQ(errno, ENOMEM);
		return;
	}
	objects = allocate_all(cache, 200);
	for (int round = 0; round < 2; round++) {
		got = slab_alloc_bulk(cache, SLAB_ALLOC_FULL, more.size(), more.data());
		objects.insert(objects.end(), more.begin(), more.begin() + static_cast<long>(got));
		if (void *obj = slab_alloc_node(cache, 0))
			objects.push_back(obj);
		EXPECT_EQ(slab_cache_debug(cache, round ? 0 : SLAB_POISON | SLAB_STORE_USER), 0);
	}
	for (std::size_t size : {40000UL, 400000UL, 3000000UL}) {
		void *ptr = slab_malloc(size), *moved;

		if (!ptr)
			continue;
		fill(ptr, size, size);
		moved = slab_realloc(ptr, size * 2);
		large[moved ? moved : ptr] = size;
	}
	for (const auto &object : large) {
		EXPECT_TRUE(intact(object.first, object.second, object.second));
		slab_mfree(object.first);
	}
	EXPECT_TRUE(all_distinct(objects));

	/* The system has memory again. */
	EXPECT_EQ(slab_set_fail(nullptr), 0);
	objects.push_back(slab_alloc(cache));
	EXPECT_NE(objects.back(), nullptr);
	EXPECT_EQ(stats_of(cache).reserve_left, 20U);
	EXPECT_EQ(stats_of(cache).objects, objects.size());
	free_many(cache, objects);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* At every place; ThreadSanitizer finds little in one thread, and takes long. */
constexpr unsigned step = under_tsan ? 7 : 1;

/* For one allocation, and for all further ones. */
TEST_F(LimitTest, NothingIsLostWhereverMemoryRunsOut)
{
	use_everything();
	slab_trim();
	const std::size_t before = used_bytes();

	for (const std::string how : {"times=1,", ""})
		for (unsigned k = 1; k <= (how.empty() ? 30 : 40); k += step) {
			failing fail(how + "interval=" + std::to_string(k));

			use_everything();
			EXPECT_EQ(used_bytes(), before) << how << k;
		}
}

/* --- what cannot succeed ------------------------------------------------------------- */

/* A cache with a reclaim function, and an empty slab that a failing allocation would take back. */
class MustFail : public testing::Test
{
protected:
	MustFail()
	{
		args_.reclaim = [](struct slab_cache *, void *) {
			calls++;
			return std::size_t{0};
		};
		cache_ = slab_cache_create("reclaimed", 512, &args_, 0);
		free_many(cache_, alloc_many(cache_, 1000));
		calls = 0;
	}

	~MustFail() override
	{
		slab_set_limit(0);
		EXPECT_EQ(slab_cache_destroy(cache_), 0);
	}

	void fails(std::size_t bytes)
	{
		const std::uint64_t slabs = stats_of(cache_).slabs;

		errno = 0;
		EXPECT_EQ(slab_malloc(bytes), nullptr);
		EXPECT_EQ(errno, ENOMEM);
		EXPECT_EQ(calls, 0u);
		EXPECT_EQ(stats_of(cache_).slabs, slabs);
	}

	struct slab_cache *cache_;
	static inline unsigned calls;

private:
	struct slab_cache_args args_ = {};
};

TEST_F(MustFail, WhatTheAddressSpaceHasNoRoomForTakesNothingBack)
{
	fails(beyond_addresses);
}

/* Allocations of other threads would fail at the limit meanwhile. */
TEST_F(MustFail, WhatTheSystemRefusesIsNotCharged)
{
	void *large = slab_malloc(16 * mib);
	const std::uint64_t used = account_used();

	used_when_asked = under_tsan ? used : 0;
	fails(beyond_addresses);
	EXPECT_EQ(used_when_asked, used);
	EXPECT_EQ(slab_realloc(large, beyond_addresses + 16 * mib), nullptr);
	EXPECT_EQ(used_when_asked, used);
	slab_mfree(large);
}

TEST_F(MustFail, WhatIsBeyondTheLimitTakesNothingBack)
{
	slab_set_limit(64 << 20);
	fails(65 << 20);
}

} /* namespace */
