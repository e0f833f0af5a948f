/* SPDX-License-Identifier: MIT */
/*
 * Bad input: each wrong argument gets its errno and changes nothing, and each
 * wrong free that can be seen at no cost is reported and contained.
 */
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include <slab/malloc.h>
#include <slab/slab.h>
#include <slab/stats.h>

#include "../support/objects.h"
#include "../support/process.h"
#include "../support/reports.h"

using namespace slab_test;

namespace
{

constexpr std::size_t no_size = static_cast<std::size_t>(-1);

/*
 * The errno of a creation that must fail; 0 when it succeeded. Nothing may
 * change: there are as many caches after as before, and nothing is printed.
 */
int creation_error(const char *name, std::size_t size, const struct slab_cache_args *args = nullptr,
		   std::uint64_t flags = 0)
{
	const unsigned caches = process_stats().caches;
	struct slab_cache *cache;
	int error;

	errno = 0;
	cache = slab_cache_create(name, size, args, flags);
	error = errno;
	if (cache) {
		slab_cache_destroy(cache);
		return 0;
	}
	EXPECT_EQ(process_stats().caches, caches);
	return error;
}

int alignment_error(std::size_t align)
{
	struct slab_cache_args args = {};

	args.align = align;
	return creation_error("alignment", 64, &args);
}

/* Sizes */

TEST(BadInputTest, SizeZero)
{
	EXPECT_EQ(creation_error("zero", 0), EINVAL);
}

TEST(BadInputTest, SizeAboveTheLimit)
{
	EXPECT_EQ(creation_error("limit", SLAB_MAX_OBJECT_SIZE), 0);
	EXPECT_EQ(creation_error("large", SLAB_MAX_OBJECT_SIZE + 1), EINVAL);
	EXPECT_EQ(creation_error("huge", no_size), EINVAL);
	EXPECT_EQ(creation_error("wrap", no_size / 2 + 1), EINVAL);
}

/* Alignments */

TEST(BadInputTest, AlignmentThatIsNoPowerOfTwo)
{
	for (std::size_t align : {3u, 5u, 24u, 48u, 4095u})
		EXPECT_EQ(alignment_error(align), EINVAL) << align;
}

TEST(BadInputTest, AlignmentAboveTheLimit)
{
	EXPECT_EQ(alignment_error(SLAB_MAX_ALIGN), 0);
	EXPECT_EQ(alignment_error(SLAB_MAX_ALIGN * 2), EINVAL);
	EXPECT_EQ(alignment_error(no_size / 2 + 1), EINVAL);
}

/* Names */

TEST(BadInputTest, NameNull)
{
	EXPECT_EQ(creation_error(nullptr, 64), EINVAL);
}

TEST(BadInputTest, NameEmpty)
{
	EXPECT_EQ(creation_error("", 64), EINVAL);
}

TEST(BadInputTest, NameTooLong)
{
	EXPECT_EQ(creation_error(std::string(SLAB_MAX_NAME, 'n').c_str(), 64), 0);
	EXPECT_EQ(creation_error(std::string(SLAB_MAX_NAME + 1, 'n').c_str(), 64), EINVAL);
	EXPECT_EQ(creation_error(std::string(100000, 'n').c_str(), 64), EINVAL);
}

TEST(BadInputTest, NameWithBlanks)
{
	for (const char *name : {" ", "two words", " first", "last ", "tab\tbed", "line\n"})
		EXPECT_EQ(creation_error(name, 64), EINVAL) << '"' << name << '"';
}

TEST(BadInputTest, NameWithUnprintableCharacters)
{
	for (const char *name : {"\x01", "esc\x1b[0m", "del\x7f", "latin\xe4"})
		EXPECT_EQ(creation_error(name, 64), EINVAL) << '"' << name << '"';
}

TEST(BadInputTest, NameInUse)
{
	test_cache cache(64);

	EXPECT_EQ(creation_error(cache.name().c_str(), 64), EEXIST);
	EXPECT_EQ(creation_error(cache.name().c_str(), 128), EEXIST);
	EXPECT_EQ(creation_error(cache.name().c_str(), 64, nullptr, SLAB_NO_MERGE), EEXIST);
}

/* Flags and arguments */

TEST(BadInputTest, UnknownFlags)
{
	for (unsigned bit : {15u, 40u, 63u})
		EXPECT_EQ(creation_error("flag", 64, nullptr, UINT64_C(1) << bit), EINVAL) << bit;
}

TEST(BadInputTest, TypeSafetyWithoutAFlavour)
{
	EXPECT_EQ(creation_error("flag", 64, nullptr, SLAB_TYPESAFE_BY_RCU), EINVAL);
}

TEST(BadInputTest, HalfAPairOfCallbacksThatMoveObjects)
{
	struct slab_cache_args isolate = {}, migrate = {};

	isolate.isolate = [](void *, void *) { return 0; };
	migrate.migrate = [](void *, void *, void *) { return 0; };
	for (const auto *args : {&isolate, &migrate})
		EXPECT_EQ(creation_error("argument", 64, args), EINVAL);
}

TEST(BadInputTest, AReserveLargerThanAddresses)
{
	struct slab_cache_args args = {};

	args.reserve = no_size;
	EXPECT_EQ(creation_error("reserve", 64, &args), ENOMEM);
}

/* A program that was built against a later library, with more arguments. */
struct later_args {
	struct slab_cache_args known;
	void *unknown;
};

TEST(BadInputTest, UnknownArgumentThatIsUsed)
{
	struct later_args args = {};

	args.unknown = &args;
	errno = 0;
	EXPECT_EQ(slab_cache_create_sized("later", 64, &args.known, sizeof(args), 0), nullptr);
	EXPECT_EQ(errno, EINVAL);
}

TEST(BadInputTest, UnknownArgumentThatIsNotUsed)
{
	struct later_args args = {};
	struct slab_cache *cache =
		slab_cache_create_sized("later", 64, &args.known, sizeof(args), 0);

	EXPECT_NE(cache, nullptr);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST(BadInputTest, ArgumentsOfAnOlderProgramAreEnough)
{
	struct slab_cache_args args = {};
	struct slab_cache *cache;

	/* An older program's structure ends behind align: what follows is not its. */
	args.align = 64;
	args.limit = 12345;
	cache = slab_cache_create_sized("older", 64, &args, sizeof(args.align), 0);
	EXPECT_NE(cache, nullptr);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* Destroyed caches */

struct slab_cache *destroyed_cache()
{
	struct slab_cache *cache = slab_cache_create("destroyed", 64, nullptr, SLAB_NO_MERGE);

	slab_free(cache, slab_alloc(cache));
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	return cache;
}

TEST(BadInputTest, DestroyedCacheIsNotDestroyedAgain)
{
	EXPECT_EQ(slab_cache_destroy(destroyed_cache()), -EINVAL);
}

TEST(BadInputTest, NamesOfSizeCachesAreReserved)
{
	errno = 0;
	EXPECT_EQ(slab_cache_create("size-64", 64, nullptr, 0), nullptr);
	EXPECT_EQ(errno, EINVAL);
	struct slab_cache *similar = slab_cache_create("size-of", 64, nullptr, SLAB_NO_MERGE);
	ASSERT_NE(similar, nullptr);
	EXPECT_EQ(slab_cache_destroy(similar), 0);
}

TEST(BadInputTest, DestroyedCacheHasNoObjects)
{
	struct slab_cache *cache = slab_cache_create("gone", 64, nullptr, SLAB_NO_MERGE);
	void *objs[4];

	ASSERT_NE(cache, nullptr);
	slab_free(cache, slab_alloc(cache));
	ASSERT_EQ(slab_cache_destroy(cache), 0);
	struct slab_cache *next = slab_cache_create("next", 64, nullptr, SLAB_NO_MERGE);
	ASSERT_NE(next, nullptr);

	errno = 0;
	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(errno, EINVAL);
	errno = 0;
	EXPECT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 4, objs), 0u);
	EXPECT_EQ(errno, EINVAL);
	errno = 0;
	EXPECT_EQ(slab_alloc_node(cache, 0), nullptr);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(slab_cache_destroy(cache), -EINVAL);
	EXPECT_EQ(slab_cache_destroy(next), 0);
}

TEST(BadInputTest, DestroyedCacheIsNeitherShrunkNorValidated)
{
	struct slab_cache *cache = destroyed_cache();

	/* In a child, because the other tests shall live. */
	EXPECT_EQ(run_in_child([&] {
			  return slab_cache_shrink(cache) == -EINVAL &&
						 slab_cache_validate(cache) == -EINVAL
					 ? 0
					 : 1;
		  }),
		  "");
}

/* Why */

/* What slab_create_error() says of a creation that fails. */
std::string creation_reason(const char *name, std::size_t size,
			    const struct slab_cache_args *args = nullptr, std::uint64_t flags = 0)
{
	EXPECT_EQ(slab_cache_create(name, size, args, flags), nullptr);
	return slab_create_error() ? slab_create_error() : "none";
}

std::string reason_of(const std::function<void(struct slab_cache_args *)> &set,
		      std::uint64_t flags = 0)
{
	struct slab_cache_args args = {};

	set(&args);
	return creation_reason("why", 64, &args, flags);
}

TEST(BadInputTest, EachWrongNameSaysWhatIsWrong)
{
	EXPECT_EQ(creation_reason(nullptr, 64), "the cache has no name");
	EXPECT_EQ(creation_reason("", 64), "the cache has no name");
	EXPECT_EQ(creation_reason(std::string(64, 'x').c_str(), 64),
		  "the name has more than 63 characters");
	EXPECT_EQ(creation_reason("a b", 64),
		  "the name has a blank, or a character that cannot be printed");
	EXPECT_EQ(creation_reason("size-64", 64), "names \"size-NUMBER\" are reserved");
}

TEST(BadInputTest, EachWrongNumberSaysWhatIsWrong)
{
	EXPECT_EQ(creation_reason("why", 0), "the size is 0");
	EXPECT_EQ(creation_reason("why", 32769), "the size is more than 32768 bytes");
	EXPECT_EQ(creation_reason("why", 64, nullptr, std::uint64_t{1} << 62),
		  "flags has a bit that this version of libslab does not know");
	EXPECT_EQ(reason_of([](auto *args) { args->align = 24; }),
		  "args.align is not a power of two");
	EXPECT_EQ(reason_of([](auto *args) { args->align = 8192; }),
		  "args.align is more than 4096 bytes");
	EXPECT_EQ(reason_of([](auto *args) { args->limit = 1; }),
		  "args.limit is less than one slab");
}

TEST(BadInputTest, EachWrongCombinationSaysWhatIsWrong)
{
	const auto ctor = [](void *, void *) { return 0; };
	const auto migrate = [](void *, void *, void *) { return 0; };

	EXPECT_EQ(reason_of([&](auto *args) { args->ctor = ctor; }, SLAB_ZERO),
		  "SLAB_ZERO excludes args.ctor");
	EXPECT_EQ(reason_of([](auto *) {}, SLAB_TYPESAFE_BY_RCU),
		  "SLAB_TYPESAFE_BY_RCU needs args.rcu");
	EXPECT_EQ(reason_of([&](auto *args) { args->migrate = migrate; }),
		  "args.isolate and args.migrate need each other");
	EXPECT_EQ(reason_of([&](auto *args) {
			  args->isolate = ctor;
			  args->migrate = migrate;
		  }),
		  "args.migrate needs args.ctor");
}

TEST(BadInputTest, AMemberThatIsNotKnownSaysSo)
{
	struct {
		struct slab_cache_args known;
		std::size_t newer;
	} args = {{}, 1};

	EXPECT_EQ(slab_cache_create_sized("why", 64, &args.known, sizeof(args), 0), nullptr);
	EXPECT_STREQ(slab_create_error(),
		     "args has a member that this version of libslab does not know");
}

TEST(BadInputTest, ADuplicateSaysSoAndASuccessSaysNothing)
{
	test_cache cache(64);

	EXPECT_EQ(slab_create_error(), nullptr);
	EXPECT_EQ(creation_reason(cache.name().c_str(), 64), "a cache of this name exists");
	std::thread([] { EXPECT_EQ(slab_create_error(), nullptr); }).join();
	test_cache another(64);

	EXPECT_EQ(slab_create_error(), nullptr);
}

/* SLAB_PANIC */

class BadInputDeathTest : public testing::Test
{
protected:
	static void SetUpTestSuite()
	{
		use_threadsafe_death_tests();
	}
};

TEST_F(BadInputDeathTest, PanicDiesWithAMessageThatNamesTheCache)
{
	EXPECT_DEATH((void)slab_cache_create("panicky", 0, nullptr, SLAB_PANIC),
		     "panicky.*: the size is 0");
}

TEST_F(BadInputDeathTest, PanicDiesOnADuplicate)
{
	test_cache cache(64);

	EXPECT_DEATH((void)slab_cache_create(cache.name().c_str(), 64, nullptr, SLAB_PANIC),
		     cache.name());
}

TEST_F(BadInputDeathTest, PanicChangesNothingOnSuccess)
{
	test_cache cache(64, SLAB_NO_MERGE | SLAB_PANIC);

	EXPECT_NE(static_cast<struct slab_cache *>(cache), nullptr);
}

/* Wrong frees */

/* Frees what must not be freed there. The compiler would warn of the use
 * afterwards, so it does not get to see which pointer it is. */
void free_wrongly(struct slab_cache *cache, void *obj)
{
	void *volatile hidden = obj;

	slab_free(cache, hidden);
}

TEST(BadInputTest, ObjectOfAnotherCacheIsReported)
{
	report_capture reports;
	test_cache owner(64);
	test_cache wrong(64);
	void *obj = slab_alloc(owner);

	fill(obj, 64, 7);
	free_wrongly(wrong, obj);
	EXPECT_EQ(reports.count(), 1u);
	EXPECT_TRUE(reports.contains("Wrong slab cache. " + wrong.name() + " but object is from " +
				     owner.name()))
		<< reports.text();
	EXPECT_TRUE(intact(obj, 64, 7));
	EXPECT_EQ(stats_of(owner).objects, 1u);
	slab_free(owner, obj);
}

TEST(BadInputTest, ObjectOfAnotherCacheIsContained)
{
	report_capture reports;
	test_cache owner(64);
	test_cache wrong(64);
	std::vector<void *> objs = alloc_many(owner, 300);

	for (std::size_t i = 0; i < objs.size(); i++) {
		fill(objs[i], 64, i);
		free_wrongly(wrong, objs[i]);
	}
	std::vector<void *> more = alloc_many(wrong, 300);
	for (void *obj : more)
		fill(obj, 64, 12345);
	for (std::size_t i = 0; i < objs.size(); i++)
		EXPECT_TRUE(intact(objs[i], 64, i));
	EXPECT_EQ(slab_cache_validate(owner), 0);
	EXPECT_EQ(slab_cache_validate(wrong), 0);
	free_many(wrong, more);
	free_many(owner, objs);
}

TEST(BadInputTest, ObjectOfAnotherCacheInABulkIsReported)
{
	report_capture reports;
	test_cache owner(64);
	test_cache wrong(64);
	void *mixed[3] = {slab_alloc(owner), slab_alloc(wrong), slab_alloc(owner)};

	slab_free_bulk(owner, 3, mixed);
	EXPECT_TRUE(reports.contains("Wrong slab cache. " + owner.name() + " but object is from " +
				     wrong.name()))
		<< reports.text();
	EXPECT_EQ(stats_of(owner).objects, 0u);
	EXPECT_EQ(stats_of(wrong).objects, 1u);
	slab_free(wrong, mixed[1]);
}

/* The first bytes of the segment that holds obj: the library's own data. */
void *metadata_near(const void *obj)
{
	const std::uintptr_t segment = process_stats().segment_size;

	return reinterpret_cast<void *>((reinterpret_cast<std::uintptr_t>(obj) & ~(segment - 1)) +
					128);
}

TEST(BadInputTest, PointerIntoMetadataIsReported)
{
	report_capture reports;
	test_cache cache(64);
	void *obj = slab_alloc(cache);

	slab_free(cache, metadata_near(obj));
	EXPECT_EQ(reports.count(), 1u);
	EXPECT_TRUE(reports.contains("Invalid object pointer")) << reports.text();
	EXPECT_EQ(stats_of(cache).objects, 1u);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	slab_free(cache, obj);
}

TEST(BadInputTest, PointerIntoMetadataInABulkIsReported)
{
	report_capture reports;
	test_cache cache(64);
	std::vector<void *> objs = alloc_many(cache, 2);

	objs.insert(objs.begin() + 1, metadata_near(objs[0]));
	slab_free_bulk(cache, objs.size(), objs.data());
	EXPECT_TRUE(reports.contains("Invalid object pointer")) << reports.text();
	EXPECT_EQ(stats_of(cache).objects, 0u);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

/*
 * Two objects that are freed alternately: neither is ever the one that was freed last, so each
 * free looks right until there are as many free objects as the slab has. The third one
 * takes the place of the last-freed object.
 */
void free_in_turns(struct slab_cache *cache, void *first, void *second,
		   const report_capture &reports)
{
	for (unsigned i = 0; i < 200000 && !reports.count(); i++)
		free_wrongly(cache, i % 2 ? first : second);
}

/* In a child, since nothing is right in that cache afterwards. */
std::string frees_in_turns(std::size_t size, std::size_t cpu)
{
	return run_in_child([&] {
		report_capture reports;
		test_cache cache(size);
		std::vector<void *> objs = alloc_many(cache, 3 * (65536 / size));
		int failures = 0;

		for (std::size_t i = 0; i < objs.size(); i++)
			fill(objs[i], size, i);
		pin(cpu);
		slab_free(cache, objs.back());
		free_in_turns(cache, objs[0], objs[1], reports);
		unpin();
		failures += !reports.count() ||
			    reports.report(0).info.problem != SLAB_PROBLEM_DOUBLE_FREE;
		for (std::size_t i = 2; i < objs.size() - 1; i++)
			failures += !intact(objs[i], size, i);
		/* The neighbours' descriptors are whole: they can be freed, and validated. */
		for (std::size_t i = 2; i < objs.size() - 1; i++)
			slab_free(cache, objs[i]);
		slab_cache_validate(cache);
		fflush(nullptr);
		_exit(failures);
		return failures;
	});
}

TEST(BadInputTest, FreesInTurnsAreReportedBeforeTheyOverrunAStack)
{
	pin(0);
	EXPECT_EQ(frees_in_turns(2048, 0), "");
	EXPECT_EQ(frees_in_turns(64, 0), "");
	unpin();
}

TEST(BadInputTest, FreesInTurnsOnAnotherCpuAreReportedBeforeTheyOverrunAStack)
{
	if (allowed_cpus().size() < 2)
		GTEST_SKIP() << "one CPU";
	pin(0);
	EXPECT_EQ(frees_in_turns(2048, 1), "");
	EXPECT_EQ(frees_in_turns(64, 1), "");
	unpin();
}

TEST(BadInputTest, BulkFreesInTurnsAreReportedBeforeTheyOverrunAStack)
{
	EXPECT_EQ(run_in_child([] {
			  report_capture reports;
			  test_cache cache(2048);
			  std::vector<void *> objs = alloc_many(cache, 64);
			  void *turns[4] = {objs[0], objs[1], objs[0], objs[1]};

			  for (unsigned i = 0; i < 1000 && !reports.count(); i++)
				  slab_free_bulk(cache, 4, turns);
			  _exit(reports.count() ? 0 : 1);
			  return 0;
		  }),
		  "");
}

/* Environment */

TEST(BadInputTest, UnknownEnvironmentValueIsOneLineAndTheDefault)
{
	if (!running_again()) {
		const second_run run = run_again({"SLAB_ENGINE=warp"});

		EXPECT_EQ(run.failure, "") << run.output;
		EXPECT_NE(run.output.find("SLAB_ENGINE=warp"), std::string::npos) << run.output;
		EXPECT_EQ(run.output.find("SLAB_ENGINE=warp"), run.output.rfind("SLAB_ENGINE=warp"))
			<< run.output;
		return;
	}
	test_cache cache(64);

	free_many(cache, alloc_many(cache, 100));
}

TEST(BadInputTest, DebugAbortEndsTheProcessAfterTheFirstReport)
{
	if (!running_again()) {
		const second_run run = run_again({"SLAB_DEBUG_ABORT=1"});

		EXPECT_NE(run.failure, "");
		EXPECT_NE(run.output.find("Wrong slab cache."), std::string::npos) << run.output;
		return;
	}
	test_cache owner(64);
	test_cache wrong(64);
	void *obj = slab_alloc(owner);

	free_wrongly(wrong, obj);
	slab_free(owner, obj);
}

} /* namespace */
