/* SPDX-License-Identifier: MIT */
/*
 * Bad input: each wrong argument gets its errno and changes nothing. Wrong frees:
 * bad_free_test.cc.
 */
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/reports.h"

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
	EXPECT_EQ(creation_error(cache.name().c_str(), 64, nullptr, 0), EEXIST);
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
	struct slab_cache *cache = slab_cache_create("destroyed", 64, nullptr, 0);

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
	struct slab_cache *similar = slab_cache_create("size-of", 64, nullptr, 0);
	ASSERT_NE(similar, nullptr);
	EXPECT_EQ(slab_cache_destroy(similar), 0);
}

TEST(BadInputTest, DestroyedCacheHasNoObjects)
{
	struct slab_cache *cache = slab_cache_create("gone", 64, nullptr, 0);
	void *objs[4];

	ASSERT_NE(cache, nullptr);
	slab_free(cache, slab_alloc(cache));
	ASSERT_EQ(slab_cache_destroy(cache), 0);
	struct slab_cache *next = slab_cache_create("next", 64, nullptr, 0);
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
	EXPECT_IN_CHILD([&] {
		return slab_cache_shrink(cache) == -EINVAL && slab_cache_validate(cache) == -EINVAL
			       ? 0
			       : 1;
	});
}

/* Why */

/* What slab_create_error() returns for a creation that fails. */
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

TEST(BadInputTest, EachWrongNameHasItsMessage)
{
	EXPECT_EQ(creation_reason(nullptr, 64), "the cache has no name");
	EXPECT_EQ(creation_reason("", 64), "the cache has no name");
	EXPECT_EQ(creation_reason(std::string(64, 'x').c_str(), 64),
		  "the name has more than 63 characters");
	EXPECT_EQ(creation_reason("a b", 64),
		  "the name has a blank, or a character that cannot be printed");
	EXPECT_EQ(creation_reason("size-64", 64), "names \"size-NUMBER\" are reserved");
}

TEST(BadInputTest, EachWrongNumberHasItsMessage)
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

TEST(BadInputTest, EachWrongCombinationHasItsMessage)
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

TEST(BadInputTest, AnUnknownMemberHasItsMessage)
{
	struct {
		struct slab_cache_args known;
		std::size_t newer;
	} args = {{}, 1};

	EXPECT_EQ(slab_cache_create_sized("why", 64, &args.known, sizeof(args), 0), nullptr);
	EXPECT_STREQ(slab_create_error(),
		     "args has a member that this version of libslab does not know");
}

TEST(BadInputTest, ADuplicateHasItsMessageAndASuccessNone)
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
	static void SetUpTestSuite() { use_threadsafe_death_tests(); }
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
	test_cache cache(64, SLAB_PANIC);

	EXPECT_NE(static_cast<struct slab_cache *>(cache), nullptr);
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

} /* namespace */
