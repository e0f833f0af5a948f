/* SPDX-License-Identifier: MIT */
/*
 * Constructors and destructors of caches: an object is constructed once after
 * its slab was made, keeps its state while it is free, and is destroyed once
 * before its slab goes back.
 */
#include "../support/objects.h"

namespace
{

constexpr std::size_t object_size = 120;
constexpr std::uint64_t constructed_state = 0x636f6e7374727563;

/* What the callbacks saw: how often each object was constructed and destroyed. */
struct history {
	std::map<void *, int> constructed;
	std::size_t ctors = 0;
	std::size_t dtors = 0;
	std::size_t foreign_dtors = 0; /* of objects that were not constructed */
	std::size_t spoilt = 0;        /* destroyed, but not in constructed state */
	std::size_t fail_from = static_cast<std::size_t>(-1); /* this call and later fail */
};

int construct(void *obj, void *arg)
{
	auto *seen = static_cast<history *>(arg);

	if (seen->ctors >= seen->fail_from)
		return -1;
	seen->ctors++;
	seen->constructed[obj]++;
	fill(obj, object_size, constructed_state);
	return 0;
}

void destruct(void *obj, void *arg)
{
	auto *seen = static_cast<history *>(arg);

	seen->dtors++;
	if (--seen->constructed[obj] != 0)
		seen->foreign_dtors++;
	if (!intact(obj, object_size, constructed_state))
		seen->spoilt++;
}

class ConstructorTest : public testing::Test
{
protected:
	ConstructorTest()
	{
		args.ctor = construct;
		args.dtor = destruct;
		args.arg = &seen;
	}

	history seen;
	struct slab_cache_args args = {};
};

TEST_F(ConstructorTest, ObjectsComeConstructed)
{
	test_cache cache(object_size, 0, &args);
	std::vector<void *> objs = alloc_many(cache, several_slabs), bulk(several_slabs);

	ASSERT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_FULL, bulk.size(), bulk.data()), bulk.size());
	objs.insert(objs.end(), bulk.begin(), bulk.end());
	objs.push_back(slab_alloc_node(cache, 0));
	for (void *obj : objs) {
		ASSERT_NE(obj, nullptr);
		EXPECT_EQ(seen.constructed[obj], 1);
		EXPECT_TRUE(intact(obj, object_size, constructed_state));
	}
	slab_free_bulk(cache, objs.size(), objs.data());
}

TEST_F(ConstructorTest, ObjectsAreConstructedOnceForManyUses)
{
	test_cache cache(object_size, 0, &args);

	for (unsigned round = 0; round < 10; round++) {
		std::vector<void *> objs = alloc_many(cache, several_slabs);

		for (void *obj : objs)
			ASSERT_TRUE(intact(obj, object_size, constructed_state));
		shuffle(objs, round);
		free_many(cache, objs);
	}
	for (const auto &obj : seen.constructed)
		EXPECT_LE(obj.second, 1) << obj.first;
}

TEST_F(ConstructorTest, StateIsKeptAcrossShrinkAndValidate)
{
	test_cache cache(object_size, 0, &args);

	for (unsigned round = 0; round < 5; round++) {
		std::vector<void *> objs = alloc_many(cache, several_slabs);

		for (void *obj : objs)
			ASSERT_TRUE(intact(obj, object_size, constructed_state));
		for (std::size_t i = 1; i < objs.size(); i++)
			slab_free(cache, objs[i]);
		EXPECT_EQ(slab_cache_validate(cache), 0);
		EXPECT_GE(slab_cache_shrink(cache), 0);
		slab_free(cache, objs[0]);
	}
	EXPECT_EQ(seen.spoilt, 0u);
}

TEST_F(ConstructorTest, DestroyDestructsWhatWasConstructed)
{
	{
		test_cache cache(object_size, 0, &args);
		std::vector<void *> objs = alloc_many(cache, several_slabs);

		shuffle(objs);
		free_many(cache, objs);
	}
	EXPECT_GE(seen.ctors, several_slabs);
	EXPECT_EQ(seen.dtors, seen.ctors);
	EXPECT_EQ(seen.foreign_dtors, 0u);
	EXPECT_EQ(seen.spoilt, 0u);
}

TEST_F(ConstructorTest, ShrinkDestructsWhatItGivesBack)
{
	test_cache cache(object_size, 0, &args);

	free_many(cache, alloc_many(cache, several_slabs));
	EXPECT_GT(slab_cache_shrink(cache), 0);
	EXPECT_EQ(seen.dtors, seen.ctors);
	EXPECT_EQ(seen.foreign_dtors, 0u);
}

TEST_F(ConstructorTest, AFailingConstructorIsNoMemory)
{
	test_cache cache(object_size, 0, &args);

	seen.fail_from = 0;
	errno = 0;
	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

TEST_F(ConstructorTest, AFailingConstructorLeavesEarlierObjectsAlone)
{
	test_cache cache(object_size, 0, &args);
	std::vector<void *> objs;

	seen.fail_from = 100;
	for (void *obj; (obj = slab_alloc(cache)) != nullptr;)
		objs.push_back(obj);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_LE(objs.size(), 100u);
	for (void *obj : objs)
		EXPECT_TRUE(intact(obj, object_size, constructed_state));
	EXPECT_EQ(stats_of(cache).objects, objs.size());
	free_many(cache, objs);
}

TEST_F(ConstructorTest, AllocatesAgainWhenTheConstructorRecovers)
{
	{
		test_cache cache(object_size, 0, &args);
		std::vector<void *> objs;

		seen.fail_from = 70;
		for (void *obj; (obj = slab_alloc(cache)) != nullptr;)
			objs.push_back(obj);
		seen.fail_from = static_cast<std::size_t>(-1);
		while (objs.size() < several_slabs) {
			objs.push_back(slab_alloc(cache));
			ASSERT_NE(objs.back(), nullptr);
			EXPECT_TRUE(intact(objs.back(), object_size, constructed_state));
		}
		EXPECT_TRUE(all_distinct(objs));
		free_many(cache, objs);
	}
	EXPECT_EQ(seen.dtors, seen.ctors);
	EXPECT_EQ(seen.foreign_dtors, 0u);
}

TEST_F(ConstructorTest, BulkDeliversWhatTheConstructorAllows)
{
	test_cache cache(object_size, 0, &args);
	std::vector<void *> objs(several_slabs);

	seen.fail_from = 100;
	const std::size_t n = slab_alloc_bulk(cache, SLAB_ALLOC_FULL, objs.size(), objs.data());

	EXPECT_LE(n, 100u);
	for (std::size_t i = 0; i < n; i++)
		EXPECT_TRUE(intact(objs[i], object_size, constructed_state));
	slab_free_bulk(cache, n, objs.data());
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

TEST_F(ConstructorTest, ADestructorNeedsNoConstructor)
{
	std::size_t dtors = 0;

	args.ctor = nullptr;
	args.dtor = [](void *, void *arg) { ++*static_cast<std::size_t *>(arg); };
	args.arg = &dtors;
	{
		test_cache cache(object_size, 0, &args);

		free_many(cache, alloc_many(cache, several_slabs));
	}
	EXPECT_GE(dtors, several_slabs);
}

TEST_F(ConstructorTest, CallbacksMayUseOtherCaches)
{
	test_cache inner(32);

	args.arg = static_cast<struct slab_cache *>(inner);
	args.ctor = [](void *obj, void *arg) {
		auto **owned = static_cast<void **>(obj);

		*owned = slab_alloc(static_cast<struct slab_cache *>(arg));
		return *owned ? 0 : -1;
	};
	args.dtor = [](void *obj, void *arg) {
		slab_free(static_cast<struct slab_cache *>(arg), *static_cast<void **>(obj));
	};
	{
		test_cache outer(64, 0, &args);

		free_many(outer, alloc_many(outer, several_slabs));
		EXPECT_GE(stats_of(inner).objects, several_slabs);
	}
	EXPECT_EQ(stats_of(inner).objects, 0u);
}

} /* namespace */
