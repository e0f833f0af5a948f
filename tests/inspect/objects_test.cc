/* SPDX-License-Identifier: MIT */
/* States of objects, and validation, of this process by itself. */
#include <regex>

#include "../support/objects.h"
#include "../support/process.h"
#include "inspection.h"

namespace
{

/* How many objects of a cache are in one of these states. */
unsigned count_state(const std::string &cache, const std::string &wanted)
{
	const answered all = inspect("objects " + cache);
	static const std::regex row("\\[[0-9]+,[0-9]+,[0-9]+,\"([^\"]*)\",\\[");
	unsigned count = 0;

	EXPECT_EQ(all.result, 0) << all.text;
	for (std::sregex_iterator at(all.text.begin(), all.text.end(), row), end; at != end; ++at) {
		const std::string states = (*at)[1];

		count += static_cast<unsigned>(
			std::count_if(states.begin(), states.end(), [&](char state) {
				return wanted.find(state) != std::string::npos;
			}));
	}
	return count;
}

TEST(ObjectsTest, AllocatedOnesAreThoseOfTheProgram)
{
	test_cache plain(64), flagged(100, SLAB_RED_ZONE | SLAB_STORE_USER);
	const objects many(plain, 5000), few(flagged, 300);

	EXPECT_EQ(count_state(plain.name(), "a"), 5000u);
	EXPECT_EQ(count_state(flagged.name(), "a"), 300u);
	expect_has(inspect("validate " + flagged.name()).text, "\"problems\":0,");
}

/* Wherever they are: in an array, a magazine, a slab. */
TEST(ObjectsTest, FreedOnesAreFree)
{
	test_cache cache(64);
	std::vector<void *> objs = alloc_many(cache, 5000);

	for (std::size_t i = 0; i < objs.size(); i += 2)
		slab_free(cache, objs[i]);
	EXPECT_EQ(count_state(cache.name(), "a"), 2500u);
	/* At once: a decay pass may take objects from a CPU between two looks. */
	EXPECT_GE(count_state(cache.name(), "fh"), 2500u);
	slab_cache_shrink(cache);
	EXPECT_EQ(count_state(cache.name(), "a"), 2500u);
	EXPECT_EQ(count_state(cache.name(), "h"), 0u);
	for (std::size_t i = 1; i < objs.size(); i += 2)
		slab_free(cache, objs[i]);
}

TEST(ObjectsTest, AReserveIsNotAllocated)
{
	struct slab_cache_args args = {};

	args.reserve = 37;
	test_cache cache(64, 0, &args);

	EXPECT_EQ(count_state(cache.name(), "r"), 37u);
	EXPECT_EQ(count_state(cache.name(), "a"), 0u);
}

/* After a switch of debug flags, slabs of the old layout have the states of their objects. */
TEST(ObjectsTest, LegacySlabsHaveStates)
{
	test_cache cache(64);
	const objects held(cache, 500);

	ASSERT_EQ(slab_cache_debug(cache, SLAB_RED_ZONE), 0);
	EXPECT_EQ(count_state(cache.name(), "a"), 500u);
	expect_has(inspect("validate " + std::string(cache.name())).text, "\"problems\":0,");
}

TEST(ObjectsTest, EveryByteAroundAnObjectIsChecked)
{
	if (under_asan)
		GTEST_SKIP() << "AddressSanitizer forbids what this test writes";
	test_cache cache(104, SLAB_RED_ZONE | SLAB_POISON);
	char *object = static_cast<char *>(slab_alloc(cache));
	struct slab *slab = slab_of(object);
	const std::string request = "validate " + std::string(cache.name());
	const std::size_t behind = slab_size(slab) - slab->debug->red_left;

	for (std::size_t at = 104; at < behind; at++) {
		object[at] ^= 1;
		expect_has(inspect(request).text, "\"problems\":1,");
		object[at] ^= 1;
	}
	for (std::size_t at = 1; at <= slab->debug->red_left; at++) {
		*(object - at) ^= 1;
		expect_has(inspect(request).text, "Left Redzone overwritten");
		*(object - at) ^= 1;
	}
	expect_has(inspect(request).text, "\"problems\":0,");
	char *volatile stale = object; /* which the compiler does not know */

	slab_free(cache, object);
	stale[50] ^= 1;
	expect_has(inspect(request).text, "Poison overwritten");
	stale[50] ^= 1;
}

/* The bytes beside a guarded object, which lies alone between guard pages. */
TEST(ObjectsTest, AGuardedObjectIsChecked)
{
	if (under_asan)
		GTEST_SKIP() << "AddressSanitizer forbids what this test writes";
	test_cache cache(100);

	ASSERT_EQ(slab_cache_sample(cache, 1), 0);
	char *object = static_cast<char *>(slab_alloc(cache));
	const std::size_t page_left = reinterpret_cast<std::uintptr_t>(object) % 4096;
	char *beside = page_left ? object - 1 : object + 100;
	const std::string request = "validate " + std::string(cache.name());

	ASSERT_TRUE(slab_of(object)->debug && slab_of(object)->debug->guarded);
	expect_has(inspect(request).text, "\"problems\":0,");
	*beside ^= 1;
	expect_has(inspect(request).text, "Redzone overwritten");
	*beside ^= 1;
	slab_free(cache, object);
}

std::string what_is_at(std::uintptr_t address)
{
	return inspect("object " + std::to_string(address)).text;
}

TEST(ObjectsTest, AnAddressIsThatOfAnObjectItsStateAndItsTracks)
{
	test_cache cache(100, SLAB_RED_ZONE | SLAB_STORE_USER);
	void *object = slab_alloc(cache);
	const auto address = reinterpret_cast<std::uintptr_t>(object);

	expect_has(what_is_at(address + 99), "\"cache\":\"" + std::string(cache.name()) + "\"");
	expect_has(what_is_at(address + 99),
		   "\"address\":" + std::to_string(address) + ",\"size\":100,");
	expect_has(what_is_at(address),
		   "\"state\":\"allocated\",\"requested\":100,\"allocated\":{");
	slab_free(cache, object);
	expect_has(what_is_at(address), "\"state\":\"free\"");
	expect_has(what_is_at(address), "\"freed\":{\"when\":");
}

TEST(ObjectsTest, AnAddressMayBeThatOfALargeAllocationOrOfNothing)
{
	void *large = slab_malloc(100000);
	const auto address = reinterpret_cast<std::uintptr_t>(large);
	const int here = 0;

	expect_has(what_is_at(address + 1),
		   "\"address\":" + std::to_string(address) + ",\"size\":100000}");
	slab_mfree(large);
	EXPECT_EQ(what_is_at(reinterpret_cast<std::uintptr_t>(&here)), "{\"slab\":2,\"ok\":true}");
}

TEST(ObjectsTest, LargeAllocationsAreListed)
{
	void *slab = slab_malloc(100000), *mapped = slab_malloc(20000000);
	const std::string text = inspect("regions").text;

	expect_has(text, "[\"large\"," + std::to_string(reinterpret_cast<std::uintptr_t>(slab)) +
				 ",100000]");
	expect_has(text, "[\"large\"," + std::to_string(reinterpret_cast<std::uintptr_t>(mapped)) +
				 ",20000000]");
	slab_mfree(slab);
	slab_mfree(mapped);
}

} /* namespace */
