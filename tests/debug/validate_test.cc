/* SPDX-License-Identifier: MIT */
/*
 * Validation of slabs without debug flags: a damaged map is reported and its objects are never
 * allocated again, and bad objects in arrays are found.
 */
#include "../support/debugging.h"

namespace
{

/* A slab with free objects: 16 of its objects are allocated; those returned are free. */
std::vector<void *> make_partial(struct slab_cache *cache, std::vector<void *> &held)
{
	std::vector<void *> freed = alloc_many(cache, 16);

	held = alloc_many(cache, 16);
	free_many(cache, freed);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	return freed;
}

/* A cache that keeps the free objects of a damaged slab, so that it cannot be destroyed. */
struct slab_cache *create_lasting(const char *name)
{
	return slab_cache_create(name, 64, nullptr, 0);
}

/* What a stray write may do: an object in use is marked as free. */
void damage_map(struct slab_cache *cache, void *held)
{
	struct slab *slab = slab_of(held);
	const unsigned index = slab_index(cache, slab, held);

	ASSERT_FALSE(slab_bit(slab, index));
	slab->map[index / 64] |= UINT64_C(1) << index % 64;
}

TEST_F(DebugTest, ADamagedMapOfAPlainSlabIsReported)
{
	struct slab_cache *cache = create_lasting("reported");
	std::vector<void *> held;

	make_partial(cache, held);
	damage_map(cache, held[0]);
	EXPECT_EQ(slab_cache_validate(cache), 1);
	const caught_report report = reported();
	EXPECT_EQ(report.info.problem, SLAB_PROBLEM_FREELIST);
	EXPECT_EQ(report.reason, "Map of free objects corrupt");
	EXPECT_NE(report.text.find(
			  "\nThe slab is inconsistent: the number of free objects is wrong\n"),
		  std::string::npos)
		<< report.text;
	EXPECT_NE(report.text.find(": Marking all objects used\n"), std::string::npos)
		<< report.text;
	free_many(cache, held);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(slab_cache_destroy(cache), -EBUSY);
}

/* A descriptor that a stray write hit. */
TEST_F(DebugTest, ASlabWithMoreObjectsThanFitIsReported)
{
	struct slab_cache *cache = create_lasting("more");
	std::vector<void *> held;

	make_partial(cache, held);
	struct slab *slab = slab_of(held[0]);

	slab->initialized = static_cast<std::uint16_t>(slab->objects + 1);
	EXPECT_EQ(slab_cache_validate(cache), 1);
	const std::string text = reported().text;
	EXPECT_NE(text.find("\nThe slab is inconsistent: the descriptor is damaged\n"),
		  std::string::npos)
		<< text;
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

TEST_F(DebugTest, ASlabWithADamagedMapIsNeverAllocatedFrom)
{
	struct slab_cache *cache = create_lasting("isolated");
	std::vector<void *> held;
	const std::vector<void *> freed = make_partial(cache, held);

	damage_map(cache, held[0]);
	EXPECT_EQ(slab_cache_validate(cache), 1);
	const std::vector<void *> objs = alloc_many(cache, 1000);
	for (void *obj : freed)
		EXPECT_EQ(std::count(objs.begin(), objs.end(), obj), 0);
	free_many(cache, objs);
	free_many(cache, held);
}

/* The second free of an object is found at the latest when the array is drained. */
TEST_F(DebugTest, AnObjectThatIsTwiceInAnArrayIsReported)
{
	test_cache cache(64);
	std::vector<void *> objs = alloc_many(cache, 3);

	slab_free(cache, hidden(objs[0]));
	slab_free(cache, objs[1]);
	slab_free(cache, hidden(objs[0]));
	ASSERT_EQ(reports_.count(), 0u);
	EXPECT_EQ(slab_cache_validate(cache), 1);
	const caught_report report = reported();
	EXPECT_EQ(report.info.problem, SLAB_PROBLEM_DOUBLE_FREE);
	EXPECT_EQ(report.reason, "Object already free");
	EXPECT_NE(report.text.find(
			  "\nFound when free objects of a CPU returned to their slabs: it was "
			  "freed twice before, or freed twice and allocated again meanwhile\n"),
		  std::string::npos)
		<< report.text;
	EXPECT_EQ(slab_cache_validate(cache), 0);
	slab_free(cache, objs[2]);
}

/* The fast path looks at the slab alone, not at the place of the object in it. */
TEST_F(DebugTest, APointerIntoAnObjectThatIsInAnArrayIsReported)
{
	test_cache cache(64);
	char *obj = hidden(slab_alloc(cache));
	void *inside = obj + 8;
	struct slab_cache *c = cache;

	ASSERT_EQ(cpu_engine->push(&c->arrays, inside), CPU_DONE);
	EXPECT_EQ(slab_cache_validate(cache), 1);
	const caught_report report = reported();
	EXPECT_EQ(report.info.problem, SLAB_PROBLEM_INVALID_POINTER);
	EXPECT_NE(report.text.find("\nIt points 8 bytes from the start of an object\n"
				   "Found when free objects of a CPU returned to their slabs: an "
				   "earlier call freed it\n"),
		  std::string::npos)
		<< report.text;
	slab_free(cache, obj);
}

} /* namespace */
