/* SPDX-License-Identifier: MIT */
/*
 * SLAB_DEFINE_CACHE(): caches that exist from their first use on, shared by all equal definitions.
 */
#include <slab/define.h>

#include "../support/debugging.h"
#include "../support/limits.h"
#include "defined.h"

namespace
{

struct plain {
	char text[88];
};
SLAB_DEFINE_CACHE(defined_plain, struct plain);

struct aligned_type {
	alignas(64) char line[64];
};
SLAB_DEFINE_CACHE(defined_aligned, struct aligned_type);
SLAB_DEFINE_CACHE(defined_zero, struct plain, SLAB_ZERO);
SLAB_DEFINE_CACHE(defined_never, struct plain);
SLAB_DEFINE_CACHE(defined_panic, struct plain, SLAB_TYPESAFE_BY_RCU | SLAB_PANIC);
SLAB_DEFINE_CACHE(defined_early, struct plain);

/* A static object of another file may be made before main(), in no particular order. */
struct early_user {
	early_user() : object(defined_early_zalloc()) {}

	struct plain *object;
};
const early_user early;

int constructed;

int construct(void *obj, void *arg)
{
	(void)arg;
	*static_cast<char *>(obj) = 'c';
	constructed++;
	return 0;
}

struct slab_cache_args with_constructor()
{
	struct slab_cache_args args = {};

	args.ctor = construct;
	args.reserve = 8;
	args.limit = 1 << 20;
	return args;
}
const struct slab_cache_args constructor_args = with_constructor();
SLAB_DEFINE_CACHE(defined_constructed, struct plain, 0, &constructor_args);

/* A definition as that of another library. */
struct slab_definition definition_of(const char *name, std::size_t size = 88, std::size_t align = 1,
				     std::uint64_t flags = 0,
				     const struct slab_cache_args *args = nullptr)
{
	return {nullptr, name, size, align, flags, args, sizeof(struct slab_cache_args)};
}

TEST(DefineTest, TheFirstUseCreatesTheCache)
{
	struct plain *obj = defined_plain_alloc();

	ASSERT_NE(obj, nullptr);
	EXPECT_STREQ(slab_cache_name(defined_plain_cache()), "defined_plain");
	EXPECT_EQ(slab_cache_size(defined_plain_cache()), sizeof(struct plain));
	EXPECT_EQ(stats_of(defined_plain_cache()).objects, 1u);
	defined_plain_free(obj);
	EXPECT_EQ(stats_of(defined_plain_cache()).objects, 0u);
}

TEST(DefineTest, ObjectsHaveTheAlignmentOfTheType)
{
	struct aligned_type *obj = defined_aligned_alloc();

	EXPECT_TRUE(aligned(obj, 64));
	EXPECT_EQ(stats_of(defined_aligned_cache()).align, 64u);
	defined_aligned_free(obj);
}

TEST(DefineTest, ZallocZeroes)
{
	struct plain *obj = defined_plain_alloc();

	fill(obj, sizeof(*obj), 1);
	defined_plain_free(obj);
	obj = defined_plain_zalloc();
	EXPECT_TRUE(all_bytes(obj, sizeof(*obj), 0));
	defined_plain_free(obj);
}

TEST(DefineTest, FlagsAreThoseOfTheDefinition)
{
	struct plain *obj = defined_zero_alloc();

	EXPECT_EQ(stats_of(defined_zero_cache()).flags & SLAB_ZERO, SLAB_ZERO);
	defined_zero_free(obj);
}

TEST(DefineTest, ArgsAreThoseOfTheDefinition)
{
	struct plain *obj = defined_constructed_alloc();

	EXPECT_EQ(obj->text[0], 'c');
	EXPECT_GE(constructed, 1);
	EXPECT_EQ(stats_of(defined_constructed_cache()).limit, 1u << 20);
	EXPECT_EQ(stats_of(defined_constructed_cache()).reserve, 8u);
	defined_constructed_free(obj);
}

TEST(DefineTest, MayBeUsedBeforeMain)
{
	ASSERT_NE(early.object, nullptr);
	EXPECT_EQ(slab_cache_of(early.object), defined_early_cache());
	EXPECT_TRUE(all_bytes(early.object, sizeof(*early.object), 0));
}

TEST(DefineTest, AFreeOfNullCreatesNothing)
{
	defined_never_free(nullptr);
	EXPECT_EQ(defined_never_definition_.cache, nullptr);
}

TEST(DefineTest, SuccessLeavesErrnoAlone)
{
	struct slab_definition definition = definition_of("leaves-errno");

	errno = 4711;
	slab_cache_defined(&definition, 0);
	EXPECT_EQ(errno, 4711);
}

/* --- several definitions ----------------------------------------------------------------- */

TEST(DefineTest, ThreadsThatComeFirstAtOnceGetOneCache)
{
	for (int round = 0; round < 50; round++) {
		const std::string name = "race-" + std::to_string(round);
		struct slab_definition definition = definition_of(name.c_str());
		std::vector<struct slab_cache *> got(8);
		std::vector<std::thread> threads;
		std::atomic<unsigned> ready{0};

		for (struct slab_cache *&cache : got)
			threads.emplace_back([&] {
				ready++;
				while (ready < got.size())
					std::this_thread::yield();
				cache = slab_cache_defined(&definition, 0);
			});
		join_all(threads);
		for (struct slab_cache *cache : got)
			EXPECT_EQ(cache, definition.cache);
		EXPECT_STREQ(slab_cache_name(definition.cache), name.c_str());
	}
}

/* The same with a definition for each thread, as of several libraries, and with a reserve. */
TEST(DefineTest, LibrariesThatComeFirstAtOnceGetOneCache)
{
	struct slab_cache_args args = {};

	args.reserve = 100;
	for (int round = 0; round < 20; round++) {
		const std::string name = "libraries-" + std::to_string(round);
		std::vector<struct slab_cache *> got(8);
		std::vector<std::thread> threads;
		std::atomic<unsigned> ready{0};

		for (struct slab_cache *&cache : got)
			threads.emplace_back([&] {
				struct slab_definition mine =
					definition_of(name.c_str(), 88, 8, 0, &args);

				ready++;
				while (ready < got.size())
					std::this_thread::yield();
				cache = slab_cache_defined(&mine, 0);
				slab_free(cache, slab_alloc(cache));
			});
		join_all(threads);
		for (struct slab_cache *cache : got)
			EXPECT_EQ(cache, got[0]);
		EXPECT_EQ(stats_of(got[0]).objects, 0u);
		EXPECT_EQ(stats_of(got[0]).reserve_left, 100u);
	}
}

/* The definition of a header: this file's and that of another one. */
TEST(DefineTest, FilesShareTheDefinitionOfAHeader)
{
	struct shared_type *mine = defined_shared_alloc(), *theirs = defined_shared_elsewhere();

	EXPECT_EQ(slab_cache_of(mine), slab_cache_of(theirs));
	defined_shared_free(theirs);
	free_shared_elsewhere(mine);
	EXPECT_EQ(stats_of(defined_shared_cache()).objects, 0u);
}

/* The cache belongs to no library, so none destroys it. */
TEST(DefineTest, IsNotDestroyed)
{
	EXPECT_EQ(slab_cache_destroy(defined_plain_cache()), -EINVAL);
	defined_plain_free(defined_plain_alloc());
}

/* --- definitions that cannot be had -------------------------------------------------------- */

/* A cache from which nothing can be allocated, for this reason. */
void expect_none(struct slab_definition definition, int error, const std::string &reason)
{
	errno = 0;
	struct slab_cache *none = slab_cache_defined(&definition, 0);

	EXPECT_EQ(errno, error);
	EXPECT_EQ(slab_create_error(), reason);
	EXPECT_EQ(definition.cache, nullptr);
	ASSERT_NE(none, nullptr);
	EXPECT_EQ(slab_alloc(none), nullptr);
	EXPECT_EQ(errno, error);
	EXPECT_EQ(slab_zalloc(none), nullptr);
	EXPECT_EQ(slab_cache_destroy(none), -EINVAL);
	EXPECT_EQ(slab_cache_shrink(none), -EINVAL);
}

TEST(DefineTest, ADifferentDefinitionIsRefused)
{
	const std::string different = "a cache of this name is defined with other properties";
	struct slab_cache_args args = {};

	args.ctor = construct;
	defined_plain_cache();
	expect_none(definition_of("defined_plain", 96), EEXIST, different);
	expect_none(definition_of("defined_plain", 88, 64), EEXIST, different);
	expect_none(definition_of("defined_plain", 88, 1, SLAB_ZERO), EEXIST, different);
	expect_none(definition_of("defined_plain", 88, 1, 0, &args), EEXIST, different);
}

TEST(DefineTest, ACreatedCacheIsNotShared)
{
	test_cache created(88);

	expect_none(definition_of(created.name().c_str()), EEXIST, "a cache of this name exists");
}

TEST(DefineTest, ADefinedNameCannotBeCreated)
{
	defined_plain_cache();
	EXPECT_EQ(slab_cache_create("defined_plain", 88, nullptr, 0), nullptr);
	EXPECT_EQ(errno, EEXIST);
}

TEST(DefineTest, AnInvalidDefinitionIsRefused)
{
	expect_none(definition_of("a blank"), EINVAL,
		    "the name has a blank, or a character that cannot be printed");
}

TEST(DefineTest, AnObjectIsNotFreedIntoNone)
{
	struct slab_definition different = definition_of("defined_plain", 96);
	struct plain *obj = defined_plain_alloc();
	report_capture reports;

	slab_free(slab_cache_defined(&different, 0), hidden(obj));
	EXPECT_EQ(reports.last().info.problem, SLAB_PROBLEM_WRONG_CACHE);
	EXPECT_EQ(reports.last().reason, "Wrong slab cache. none but object is from defined_plain");
	defined_plain_free(obj);
}

/* Handles come by the block, so only some definitions find no memory. */
TEST(DefineTest, WithoutMemoryTheNextUseTriesAgain)
{
	bool failed = false;

	for (int i = 0; i < 200 && !failed; i++) {
		const std::string name = "late-" + std::to_string(i);
		struct slab_definition definition = definition_of(name.c_str());

		ASSERT_EQ(slab_set_fail("interval=1"), 0);
		void *obj = slab_alloc(slab_cache_defined(&definition, 0));
		const int error = errno;
		ASSERT_EQ(slab_set_fail(nullptr), 0);
		EXPECT_EQ(obj, nullptr);
		EXPECT_EQ(error, ENOMEM);
		failed = !definition.cache;
		obj = slab_alloc(slab_cache_defined(&definition, 0));
		EXPECT_NE(obj, nullptr);
		EXPECT_STREQ(slab_cache_name(definition.cache), name.c_str());
		slab_free(definition.cache, obj);
	}
	EXPECT_TRUE(failed);
}

TEST(DefineDeathTest, PanicAbortsWithTheReason)
{
	use_threadsafe_death_tests();
	EXPECT_DEATH(defined_panic_free(defined_panic_alloc()),
		     "libslab: slab_cache_create\\(defined_panic, 88\\) with SLAB_PANIC failed: "
		     "SLAB_TYPESAFE_BY_RCU needs args.rcu");
}

} /* namespace */
