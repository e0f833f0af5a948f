/* SPDX-License-Identifier: MIT */
/*
 * Looking into a process through a reader: the numbers are those that the process
 * has of itself, and damaged memory ends in an answer or a refusal. Lists of caches that
 * change meanwhile: inspect_caches_test.cc.
 */
#include <regex>

#include <slab/inspect.h>

#include "../support/objects.h"
#include "../support/process.h"
#include "../support/shards.h"
#include "inspection.h"

namespace
{

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
	expect_has(mine, number("partial", stats.partial));
	expect_has(mine, number("full", stats.full));
	expect_has(mine, number("empty", stats.empty));
	expect_has(mine, number("populated", populated_bytes(cache)));
	expect_has(all.text, "\"pid\":42,\"command\":\"victim\"");
}

TEST(InspectTest, ADestructorIsShown)
{
	struct slab_cache_args args = {};

	args.dtor = [](void *, void *) {};
	test_cache cache(100, 0, &args);
	const std::string mine =
		from_member(inspect("stats").text, "\"name\":\"" + cache.name() + "\"");

	expect_has(mine, "\"has_ctor\":0,\"has_dtor\":1,\"has_rcu\":0");
}

TEST(InspectTest, SlabsAreAsManyAndHoldAsMuchAsTheStatisticsSay)
{
	test_cache cache(2000);
	const objects held(cache, 500);

	slab_cache_shrink(cache); /* what the array holds goes to its slabs */

	const answered all = inspect("slabs " + cache.name());
	const struct slab_stats stats = stats_of(cache);

	ASSERT_EQ(all.result, 0) << all.text;
	expect_has(all.text, "\"total\":" + std::to_string(stats.slabs) + "}]");
	expect_has(all.text, "\"full\",0,\"-\",");
	expect_has(all.text, "\"partial\",");
}

/* The sum of a column of the answer to "slabs". */
std::uint64_t sum_of_used(const std::string &answer)
{
	static const std::regex row(R"(\[\d+,\d+,(\d+),\d+,")");
	std::uint64_t sum = 0;

	for (std::sregex_iterator at(answer.begin(), answer.end(), row), end; at != end; ++at)
		sum += std::stoull((*at)[1]);
	return sum;
}

TEST(InspectTest, ObjectsThatCpusHoldAreNotInUseInTheirSlabs)
{
	test_cache cache(200);
	{
		const objects freed(cache, 1000);
	}
	const struct slab_stats stats = stats_of(cache);

	EXPECT_GT(stats.cpu_objects, 0U);
	EXPECT_EQ(stats.objects, 0U);
	EXPECT_EQ(sum_of_used(inspect("slabs " + cache.name()).text), 0U);
}

TEST(InspectTest, SlabsWithDebugFlagsShowThem)
{
	test_cache cache(100, SLAB_RED_ZONE | SLAB_STORE_USER);
	const objects held(cache, 10);

	expect_has(inspect("slabs " + cache.name()).text, ",\"debug\",0,\"ZU\",");
}

TEST(InspectTest, RequestsThatAreNotForReadingAreRefused)
{
	const answered all = inspect("shrink entry");

	EXPECT_EQ(all.result, -EINVAL);
	EXPECT_EQ(
		all.text,
		"{\"slab\":2,\"ok\":false,\"error\":\"\\\"shrink entry\\\" cannot be read from "
		"memory; that can be: ping, stats, slabs, traces, profile, waste, objects, object, "
		"regions, validate\"}");
}

TEST(InspectTest, AnUnknownCacheIsNamed)
{
	const answered all = inspect("slabs enrty");

	EXPECT_EQ(all.result, -ENOENT);
	EXPECT_EQ(all.text,
		  "{\"slab\":2,\"ok\":false,\"error\":\"no cache is called \\\"enrty\\\"\"}");
}

TEST(InspectTest, AnAddressThatIsNoRootIsDistinguishedFromOneThatCannotBeRead)
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

TEST(InspectTest, ReadsThatFailAnywhereFailTheWhole)
{
	test_cache cache(100, SLAB_STORE_USER);
	const objects held(cache, 100);
	const std::string request = "traces allocated 0 " + cache.name();
	long reads = 0, failures = 0;

	ASSERT_EQ(inspect(request, [&](char *, std::size_t) { return ++reads; }).result, 0);
	for (long last = 0; last < reads; last++) {
		long n = 0;
		const answered all =
			inspect(request, [&](char *, std::size_t) { return n++ < last; });

		/* Without its frames a site is still a site. */
		EXPECT_TRUE(all.result == -EFAULT || all.result == 0) << last;
		failures += all.result == -EFAULT;
	}
	/* All but those of a record: where its chunk is, its head, its frames. */
	EXPECT_GE(failures, reads - 3);
}

/* Flip bits in what is read, more and more often. */
TEST(InspectTest, DamagedMemoryEndsInAnAnswerOrARefusal)
{
	test_cache plain(64), flagged(100, SLAB_RED_ZONE | SLAB_STORE_USER);
	const objects many(plain, 5000), few(flagged, 300);
	void *object = slab_alloc(flagged);
	std::mt19937_64 random(20261121);

	const unsigned rounds = under_tsan ? 280 : 1400;
	unsigned answers = 0, refusals = 0;

	for (unsigned round = 0; round < rounds; round++) {
		const std::uint64_t rarity = UINT64_C(1) << random() % 14;
		const std::string requests[] = {
			"stats",
			"slabs " + flagged.name(),
			"traces allocated 0 " + flagged.name(),
			"objects",
			"object " + std::to_string(reinterpret_cast<std::uintptr_t>(object)),
			"regions",
			"waste",
			"slabs",
			"validate",
			"validate " + flagged.name()};
		const answered all = inspect(
			requests[round % std::size(requests)], [&](char *bytes, std::size_t size) {
				if (random() % rarity == 0)
					bytes[random() % size] ^=
						static_cast<char>(1 << random() % 8);
				return true;
			});

		answers += all.result == 0;
		refusals += all.result != 0;
		EXPECT_TRUE(all.result == -ENOMEM || all.text.front() == '{');
	}
	EXPECT_GT(answers, rounds / 28);
	EXPECT_GT(refusals, rounds / 28);
	slab_free(flagged, object);
}

/* CPUs in pairs make the longest list. */
TEST(InspectTest, TheLongestListOfCpusIsWhole)
{
	test_cache cache(64, SLAB_STORE_USER);
	const objects held(cache, 3000);
	const struct slab_stats stats = stats_of(cache);
	const std::size_t stride = sizeof(struct debug_object) + 2 * sizeof(struct track);
	const std::size_t of_slab = stride * stats.total_objects / stats.slabs;
	unsigned n = 0;
	const answered all =
		inspect("traces allocated 0 " + cache.name(), [&](char *bytes, std::size_t size) {
			for (std::size_t at = 0; size == of_slab && at < size; at += stride) {
				struct track track;

				std::memcpy(&track, bytes + at + sizeof(struct debug_object),
					    sizeof(track));
				track.cpu = (n / 2 * 3 + n % 2) & 1023;
				std::memcpy(bytes + at + sizeof(struct debug_object), &track,
					    sizeof(track));
				n = (n + 1) % 683;
			}
			return true;
		});
	std::string expected;

	for (unsigned cpu = 0; cpu < 1023; cpu += 3)
		expected += std::to_string(cpu) + "-" + std::to_string(cpu + 1) + ",";
	ASSERT_EQ(all.result, 0) << all.text;
	expect_has(all.text, "\"cpus\":\"" + expected + "1023\"");
}

/* A damaged table leads to something that is no descriptor. */
TEST(InspectTest, ADescriptorOfAnImpossibleSizeIsRefused)
{
	test_cache cache(64);
	const objects held(cache, 10);
	const answered all = inspect("stats", [](char *bytes, std::size_t size) {
		if (size == sizeof(struct slab))
			reinterpret_cast<struct slab *>(bytes)->shift = SEGMENT_SHIFT + 1;
		return true;
	});

	EXPECT_EQ(all.result, -EFAULT) << all.text;
}

/* --- layouts ---------------------------------------------------------------------------- */

TEST(InspectTest, FieldsFarFromTheStartAreDistinguished)
{
	const std::uint32_t next = FIELD(struct stack_depot, next);
	const std::uint32_t *begin = slab_root.layout, *end = begin + ROOT_FIELDS_MAX;

	ASSERT_GT(offsetof(struct stack_depot, next), 2048u);
	EXPECT_EQ(next >> 5, offsetof(struct stack_depot, next));
	EXPECT_NE(std::find(begin, end, next), end);
}

TEST(InspectTest, AReaderOfAnotherVersionGetsNoAnswer)
{
	struct slab_reader reader = {};
	struct slab_answer answer;

	reader.struct_size = sizeof(reader) - 8;
	EXPECT_EQ(slab_inspect(&reader, 4096, "ping", &answer), -EINVAL);
	EXPECT_EQ(answer.text, nullptr);
}

TEST(InspectTest, AProcessWithoutANameIsNamedAllTheSame)
{
	struct slab_reader reader = {};
	struct slab_answer answer;
	meddling none = [](char *, std::size_t) { return true; };
	static const char zeros[sizeof(slab_root)] __attribute__((aligned(8))) = {};

	reader.struct_size = sizeof(reader);
	reader.read = read_pieces;
	reader.arg = &none;
	reader.pid = 42;
	EXPECT_EQ(slab_inspect(&reader, reinterpret_cast<std::uint64_t>(zeros), "ping", &answer),
		  -EPROTO);
	expect_has(answer.text, "process 42 (?) has no libslab");
	slab_answer_free(&answer);
}

/* --- on the way ----------------------------------------------------------------------- */

/* Between the copies of its descriptor and of its debug flags, it became another one. */
TEST(InspectTest, ASlabThatIsDescribedAnewIsLeftOutOfTraces)
{
	test_cache cache(100, SLAB_STORE_USER);
	const objects held(cache, 10);
	const answered all =
		inspect("traces allocated 0 " + cache.name(), [](char *bytes, std::size_t size) {
			if (size == sizeof(struct slab_debug))
				reinterpret_cast<struct slab_debug *>(bytes)->stride = 0xfff8;
			return true;
		});

	EXPECT_EQ(all.result, 0);
	expect_has(all.text, "\"sites\":[],\"tracked\":true");
}

std::uint64_t value(const std::string &json, const std::string &key)
{
	const std::size_t at = json.find("\"" + key + "\":");

	return at == std::string::npos ? 0 : std::stoull(json.substr(at + key.size() + 3));
}

/* A slab that is on its way from one place to another is in neither. */
TEST(InspectTest, NoSlabIsInTwoPlacesWhileThreadsWork)
{
	test_cache cache(1000);
	const objects kept(cache, 100);
	std::atomic<bool> stop{false};
	std::atomic<unsigned> rounds{0};
	std::vector<std::thread> threads;

	for (unsigned i = 0; i < 3; i++)
		threads.emplace_back([&] {
			for (; !stop; rounds++)
				const objects held(cache, 500);
		});
	while (rounds < 1000 && !HasFailure()) {
		const std::string mine =
			from_member(inspect("stats").text, "\"name\":\"" + cache.name());

		EXPECT_LE(value(mine, "partial") + value(mine, "full") + value(mine, "empty"),
			  value(mine, "slabs"));
	}
	stop = true;
	join_all(threads);

	const struct slab_stats stats = stats_of(cache);

	EXPECT_GT(stats.slabs, 0u);
	EXPECT_EQ(stats.partial + stats.full + stats.empty, stats.slabs);
}

} /* namespace */
