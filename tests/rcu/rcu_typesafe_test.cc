/* SPDX-License-Identifier: MIT */
/*
 * Type-safe caches, with each of liburcu's flavours: objects are reused at once, and
 * slabs stay what they are until readers are gone.
 */
#include "../support/debugging.h"
#include "../support/process.h"
#include "../support/rcu_caches.h"

namespace
{

struct typed {
	std::uint64_t magic;
	char rest[object_size - sizeof(std::uint64_t)];
};

constexpr std::uint64_t typed_magic = 0x7479706573616665;

int construct(void *object, void *)
{
	static_cast<typed *>(object)->magic = typed_magic;
	return 0;
}

std::atomic<unsigned> destroyed;

void destruct(void *object, void *)
{
	static_cast<typed *>(object)->magic = 0;
	destroyed++;
}

class TypesafeTest : public RcuTest
{
protected:
	void SetUp() override
	{
		args.ctor = construct;
		args.dtor = destruct;
		destroyed = 0;
	}
};

INSTANTIATE_TEST_SUITE_P(Flavours, TypesafeTest, testing::ValuesIn(flavours),
			 [](const auto &info) { return info.param.name; });

TEST_P(TypesafeTest, SlabsStayWhatTheyAreWhileAReaderMayLook)
{
	struct slab_cache *cache = create(SLAB_TYPESAFE_BY_RCU);
	std::vector<typed *> objects(10000);
	reader other(rcu);

	for (typed *&object : objects)
		object = static_cast<typed *>(slab_alloc(cache));
	for (typed *object : objects)
		slab_free(cache, hidden(object));
	slab_cache_shrink(cache);
	EXPECT_EQ(destroyed, 0u);
	for (const typed *object : objects)
		ASSERT_EQ(object->magic, typed_magic);
	other.leave();
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(TypesafeTest, SlabsGoAfterTheGracePeriod)
{
	struct slab_cache *cache = create(SLAB_TYPESAFE_BY_RCU);
	std::vector<void *> objects(10000);

	for (void *&object : objects)
		object = slab_alloc(cache);
	for (void *object : objects)
		slab_free(cache, hidden(object));
	slab_cache_shrink(cache);
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_EQ(stats(cache).slabs, 0u);
	EXPECT_GE(destroyed, objects.size());
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(TypesafeTest, ObjectsAreReusedAtOnce)
{
	on_one_cpu here_only;
	struct slab_cache *cache = create(SLAB_TYPESAFE_BY_RCU);
	reader other(rcu);
	void *object = slab_alloc(cache);

	slab_free(cache, hidden(object));

	const std::set<void *> objects = drain_slabs(cache);

	EXPECT_EQ(objects.count(object), 1u);
	free_all(cache, objects);
	other.leave();
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(TypesafeTest, FreeObjectsAreNeverPoisoned)
{
	struct slab_cache *cache = create(SLAB_TYPESAFE_BY_RCU | SLAB_DEBUG_DEFAULT);
	auto *object = static_cast<typed *>(slab_alloc(cache));

	slab_free(cache, hidden(object));
	EXPECT_EQ(object->magic, typed_magic);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(TypesafeTest, DebugSlabsGoAfterTheGracePeriod)
{
	struct slab_cache *cache = create(SLAB_TYPESAFE_BY_RCU | SLAB_DEBUG_DEFAULT);
	auto *object = static_cast<typed *>(slab_alloc(cache));
	reader other(rcu);

	slab_free(cache, hidden(object));
	slab_cache_shrink(cache);
	EXPECT_EQ(destroyed, 0u);
	EXPECT_EQ(object->magic, typed_magic);
	other.leave();
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_GT(destroyed, 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(TypesafeTest, NoneIsSampled)
{
	struct slab_cache *cache = create(SLAB_TYPESAFE_BY_RCU);

	slab_cache_sample(cache, 1);
	slab_free(cache, slab_alloc(cache));
	EXPECT_EQ(stats(cache).guarded_slabs, 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

} /* namespace */
