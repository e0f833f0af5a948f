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

struct bad_creation {
	std::string name;
	std::size_t size;
	std::function<void(struct slab_cache_args *)> set;
	std::uint64_t flags;
	int error;
	const char *reason;
};

/* Why a creation must fail, as errno and slab_create_error() say. Nothing may change: there are as
 * many caches after as before. */
void expect_refused(const bad_creation &bad)
{
	const unsigned caches = process_stats().caches;
	struct slab_cache_args args = {};

	if (bad.set)
		bad.set(&args);
	errno = 0;
	EXPECT_EQ(slab_cache_create(bad.name.c_str(), bad.size, &args, bad.flags), nullptr)
		<< bad.name;
	EXPECT_EQ(errno, bad.error) << bad.reason;
	EXPECT_STREQ(slab_create_error(), bad.reason);
	EXPECT_EQ(process_stats().caches, caches);
}

void expect_refused(const std::vector<std::string> &names, const char *reason)
{
	for (const std::string &name : names)
		expect_refused({name, 64, nullptr, 0, EINVAL, reason});
}

/* A creation with this member of the arguments. */
template <typename T>
void expect_refused(T slab_cache_args::*member, std::initializer_list<T> values, const char *reason,
		    int error = EINVAL)
{
	for (T value : values)
		expect_refused({"argument", 64, [&](auto *args) { args->*member = value; }, 0,
				error, reason});
}

void expect_created(const std::string &name, std::size_t size, std::size_t align = 0)
{
	struct slab_cache_args args = {};

	args.align = align;
	struct slab_cache *cache = slab_cache_create(name.c_str(), size, &args, 0);

	EXPECT_NE(cache, nullptr) << name;
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST(BadInputTest, WrongSizesAreRefused)
{
	expect_created("limit", SLAB_MAX_OBJECT_SIZE);
	expect_refused({"zero", 0, nullptr, 0, EINVAL, "the size is 0"});
	for (std::size_t size : {std::size_t{SLAB_MAX_OBJECT_SIZE} + 1, no_size, no_size / 2 + 1})
		expect_refused(
			{"large", size, nullptr, 0, EINVAL, "the size is more than 32768 bytes"});
}

TEST(BadInputTest, WrongAlignmentsAreRefused)
{
	expect_created("alignment", 64, SLAB_MAX_ALIGN);
	expect_refused<std::size_t>(&slab_cache_args::align, {3, 5, 24, 48, 4095},
				    "args.align is not a power of two");
	expect_refused<std::size_t>(&slab_cache_args::align, {SLAB_MAX_ALIGN * 2, no_size / 2 + 1},
				    "args.align is more than 4096 bytes");
}

TEST(BadInputTest, WrongNamesAreRefused)
{
	expect_created(std::string(SLAB_MAX_NAME, 'n'), 64);
	expect_created("size-of", 64);
	EXPECT_EQ(slab_cache_create(nullptr, 64, nullptr, 0), nullptr);
	EXPECT_STREQ(slab_create_error(), "the cache has no name");
	expect_refused({""}, "the cache has no name");
	expect_refused({std::string(SLAB_MAX_NAME + 1, 'n'), std::string(100000, 'n')},
		       "the name has more than 63 characters");
	expect_refused({" ", "two words", " first", "last ", "tab\tbed", "line\n", "\x01",
			"esc\x1b[0m", "del\x7f", "latin\xe4"},
		       "the name has a blank, or a character that cannot be printed");
	expect_refused({"size-64"}, "names \"size-NUMBER\" are reserved");
}

TEST(BadInputTest, NamesInUseAreRefusedAndASuccessHasNoReason)
{
	test_cache cache(64);

	EXPECT_EQ(slab_create_error(), nullptr);
	for (std::size_t size : {64u, 128u})
		expect_refused(
			{cache.name(), size, nullptr, 0, EEXIST, "a cache of this name exists"});
	std::thread([] { EXPECT_EQ(slab_create_error(), nullptr); }).join();
	test_cache another(64);

	EXPECT_EQ(slab_create_error(), nullptr);
}

TEST(BadInputTest, WrongFlagsAreRefused)
{
	for (unsigned bit : {15u, 40u, 62u, 63u})
		expect_refused({"flag", 64, nullptr, UINT64_C(1) << bit, EINVAL,
				"flags has a bit that this version of libslab does not know"});
	expect_refused({"flag", 64, nullptr, SLAB_TYPESAFE_BY_RCU, EINVAL,
			"SLAB_TYPESAFE_BY_RCU needs args.rcu"});
	expect_refused({"flag", 64,
			[](auto *args) { args->ctor = [](void *, void *) { return 0; }; },
			SLAB_ZERO, EINVAL, "SLAB_ZERO excludes args.ctor"});
}

TEST(BadInputTest, WrongArgumentsAreRefused)
{
	const auto isolate = [](void *, void *) { return 0; };
	const auto migrate = [](void *, void *, void *) { return 0; };
	const char *const both = "args.isolate and args.migrate need each other";

	expect_refused({"half", 64, [&](auto *args) { args->isolate = isolate; }, 0, EINVAL, both});
	expect_refused({"half", 64, [&](auto *args) { args->migrate = migrate; }, 0, EINVAL, both});
	expect_refused({"pair", 64,
			[&](auto *args) {
				args->isolate = isolate;
				args->migrate = migrate;
			},
			0, EINVAL, "args.migrate needs args.ctor"});
	expect_refused<std::size_t>(&slab_cache_args::limit, {1},
				    "args.limit is less than one slab");
	errno = 0;
	struct slab_cache_args args = {};
	args.reserve = no_size;
	EXPECT_EQ(slab_cache_create("reserve", 64, &args, 0), nullptr);
	EXPECT_EQ(errno, ENOMEM);
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
	EXPECT_STREQ(slab_create_error(),
		     "args has a member that this version of libslab does not know");
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
