/* SPDX-License-Identifier: MIT */
/*
 * What the environment does to caches with debug flags: which debug flags they
 * get, the order of their objects, zeroing; and fault injection and tracing.
 */
#include <sys/personality.h>

#include "../support/debugging.h"

namespace
{

/* --- environment ------------------------------------------------------------------------------ */

TEST_F(DebugTest, ZeroAtAllocReachesTheEndOfASize)
{
	if (!running_again()) {
		for (const char *debug_flags :
		     {"SLAB_DEBUG=-", "SLAB_DEBUG=F", "SLAB_DEBUG=FZPU"}) {
			const second_run run = run_again({"SLAB_ZERO=alloc", debug_flags});

			EXPECT_EQ(run.failure, "") << debug_flags << run.output;
		}
		return;
	}
	for (int round = 0; round < 100; round++) {
		char *obj = static_cast<char *>(slab_malloc(18));
		const std::size_t usable = slab_usable_size(obj);

		EXPECT_GE(usable, 18u);
		EXPECT_TRUE(all_bytes(obj, usable, 0));
		std::memset(obj, 'S', usable);
		slab_mfree(obj);
	}
}

TEST_F(DebugTest, EnvironmentGivesDebugFlagsToCaches)
{
	if (!running_again()) {
		const second_run run =
			run_again({"SLAB_DEBUG=FZ;P,red,blue*;-,plain*;U,size-64;FZPUO,wide",
				   "SLAB_CONTROL=off"});

		EXPECT_EQ(run.failure, "") << run.output;
		return;
	}
	const struct {
		const char *name;
		std::size_t size;
		std::uint64_t expected;
	} cases[] = {
		{"any", 64, SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE},
		{"red", 64, SLAB_POISON},
		{"redder", 64, SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE},
		{"blue", 64, SLAB_POISON},
		{"blueish", 64, SLAB_POISON},
		{"plain-1", 64, 0},
		{"wide", 64, all_debug_flags},
	};

	for (const auto &c : cases) {
		struct slab_cache *cache = slab_cache_create(c.name, c.size, nullptr, 0);

		EXPECT_EQ(stats_of(cache).flags & SLAB_DEBUG_FLAGS, c.expected) << c.name;
		EXPECT_EQ(slab_cache_destroy(cache), 0);
	}
	EXPECT_EQ(stats_of(cache_of_size(64)).flags & SLAB_DEBUG_FLAGS, SLAB_STORE_USER);
}

/* Debug flags in the flags stay, and O leaves out what makes slabs larger. */
TEST_F(DebugTest, EnvironmentAddsToTheFlagsUnlessSlabsGrow)
{
	if (!in_environment({"SLAB_DEBUG=FZPUO"}))
		return;
	/* 12 objects of 5456 bytes fill 64 KiB; with red zones 11 do. */
	test_cache small(64), large(5456), traced(64, SLAB_FAILSLAB);

	EXPECT_EQ(stats_of(small).flags & SLAB_DEBUG_FLAGS, all_debug_flags);
	EXPECT_EQ(stats_of(large).flags & SLAB_DEBUG_FLAGS,
		  SLAB_CONSISTENCY_CHECKS | SLAB_STORE_USER);
	EXPECT_EQ(stats_of(traced).flags & SLAB_DEBUG_FLAGS, all_debug_flags | SLAB_FAILSLAB);
}

/* The order of a fresh slab's objects, as distances. */
std::vector<std::ptrdiff_t> order_of(const std::vector<void *> &objs)
{
	std::vector<std::ptrdiff_t> order;

	for (void *obj : objs)
		order.push_back(static_cast<char *>(obj) - slab_of(obj)->base);
	return order;
}

TEST_F(DebugTest, RandomOrderHandsOutEveryObjectOnce)
{
	if (!in_environment({"SLAB_RANDOM=on"}))
		return;
	for (std::uint64_t flags : {std::uint64_t{0}, all_debug_flags}) {
		test_cache cache(100, flags);
		const unsigned room = stats_of(cache).objects_per_slab;
		std::vector<void *> objs = alloc_many(cache, 2 * room);
		const std::vector<std::ptrdiff_t> order = order_of(objs);

		EXPECT_TRUE(all_distinct(objs));
		EXPECT_FALSE(std::is_sorted(order.begin(), order.begin() + 30));
		const std::vector<std::ptrdiff_t> first(order.begin(), order.begin() + 30),
			last(order.end() - 30, order.end());
		EXPECT_NE(first, last);
		free_many(cache, objs);
		EXPECT_EQ(slab_cache_validate(cache), 0);
	}
}

std::string order_line(const std::string &output)
{
	const std::size_t start = output.find("order:");

	EXPECT_NE(start, std::string::npos) << output;
	return output.substr(start, output.find('\n', start) - start);
}

/* With all addresses the same, the kernel's random bytes are what differs. */
TEST_F(DebugTest, RandomOrderIsAnotherOneInEachProcess)
{
	if (!running_again()) {
		const int before = personality(0xffffffff);

		personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE);
		const second_run first = run_again({"SLAB_RANDOM=on"});
		const second_run second = run_again({"SLAB_RANDOM=on"});
		personality(static_cast<unsigned long>(before));

		EXPECT_EQ(first.failure, "") << first.output;
		EXPECT_EQ(second.failure, "") << second.output;
		EXPECT_NE(order_line(first.output), order_line(second.output));
		return;
	}
	test_cache cache(100);
	const std::vector<void *> objs = alloc_many(cache, 30);

	std::cout << "order:";
	for (std::ptrdiff_t distance : order_of(objs))
		std::cout << ' ' << distance;
	std::cout << ".\n";
	free_many(cache, objs);
}

TEST_F(DebugTest, OrderIsThatOfAddressesOtherwise)
{
	test_cache cache(100, all_debug_flags);
	const std::vector<void *> objs = alloc_many(cache, 100);
	const std::vector<std::ptrdiff_t> order = order_of(objs);

	EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
	free_many(cache, objs);
}

TEST_F(DebugTest, ZeroAtAllocationIsForEveryCacheWithoutConstructor)
{
	if (!running_again()) {
		for (const char *when : {"SLAB_ZERO=alloc", "SLAB_ZERO=both"}) {
			const second_run run = run_again({when});

			EXPECT_EQ(run.failure, "") << when << run.output;
		}
		return;
	}
	for (std::uint64_t flags : all_layouts()) {
		test_cache cache(100, flags);

		for (int round = 0; round < 3; round++) {
			std::vector<void *> objs = alloc_many(cache, 700);

			for (void *obj : objs) {
				ASSERT_TRUE(all_bytes(obj, 100, 0)) << flags;
				std::memset(obj, 1, 100);
			}
			free_many(cache, objs);
		}
		EXPECT_EQ(slab_cache_validate(cache), 0);
	}
	void *memory = slab_malloc(100);
	EXPECT_TRUE(all_bytes(memory, 100, 0));
	slab_mfree(memory);
}

/* Poison is as good as zeros where an object was. */
TEST_F(DebugTest, ZeroAtFreeLeavesNothingBehind)
{
	if (!running_again()) {
		for (const char *when : {"SLAB_ZERO=free", "SLAB_ZERO=both"}) {
			const second_run run = run_again({when});

			EXPECT_EQ(run.failure, "") << when << run.output;
		}
		return;
	}
	for (std::uint64_t flags : all_layouts()) {
		test_cache cache(100, flags);
		std::vector<void *> objs = alloc_many(cache, 100);
		void *kept = slab_alloc(cache);

		for (void *obj : objs)
			std::memset(obj, 1, 100);
		for (void *obj : objs)
			slab_free(cache, hidden(obj));
		for (void *obj : objs)
			ASSERT_TRUE(all_bytes(obj, 99, flags & SLAB_POISON ? POISON_FREE : 0))
				<< flags;
		EXPECT_EQ(slab_cache_validate(cache), 0);
		slab_free(cache, kept);
	}
}

TEST_F(DebugTest, ZeroAtFreeHoldsForOlderObjects)
{
	if (!in_environment({"SLAB_ZERO=free"}))
		return;
	test_cache cache(100);
	char *obj = hidden(slab_alloc(cache));
	void *kept = slab_alloc(cache);

	std::memset(obj, 1, 100);
	ASSERT_EQ(slab_cache_debug(cache, all_debug_flags), 0);
	slab_free(cache, hidden(obj));
	EXPECT_TRUE(all_bytes(obj, 100, 0));
	ASSERT_EQ(slab_cache_debug(cache, 0), 0);
	slab_free(cache, kept);
}

/* --- fault injection, tracing ----------------------------------------------------------------- */

TEST_F(DebugTest, FaultInjectionFailsAllocationsOfItsCaches)
{
	for (std::uint64_t flags : {SLAB_FAILSLAB, SLAB_FAILSLAB | all_debug_flags}) {
		test_cache cache(100, flags), other(100, all_debug_flags);
		void *objs[2], *obj;

		const std::string name = ",cache=" + cache.name();
		ASSERT_EQ(slab_set_fail(("interval=2" + name).c_str()), 0);
		objs[0] = slab_alloc(cache);
		errno = 0;
		obj = slab_alloc(cache);
		EXPECT_EQ(obj, nullptr);
		EXPECT_EQ(errno, ENOMEM);
		objs[1] = slab_alloc_node(cache, 0);
		EXPECT_EQ(slab_alloc_node(cache, 0), nullptr);
		ASSERT_EQ(slab_set_fail(("times=-1" + name).c_str()), 0);
		EXPECT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 1, &obj), 0u);
		EXPECT_EQ(slab_zalloc(cache), nullptr);
		obj = slab_alloc(other);
		EXPECT_NE(obj, nullptr);
		slab_free(other, obj);
		ASSERT_EQ(slab_set_fail(nullptr), 0);
		EXPECT_NE(objs[0], nullptr);
		EXPECT_NE(objs[1], nullptr);
		slab_free_bulk(cache, 2, objs);
		EXPECT_EQ(slab_cache_validate(cache), 0);
	}
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

TEST_F(DebugTest, TracingPrintsEveryAllocationAndFree)
{
	if (!running_again()) {
		const second_run run = run_again({"SLAB_DEBUG=T,traced"});

		EXPECT_EQ(run.failure, "") << run.output;
		EXPECT_EQ(lines_with(run.output, "TRACE traced alloc 0x"), 2u) << run.output;
		EXPECT_EQ(lines_with(run.output, "TRACE traced free 0x"), 2u) << run.output;
		EXPECT_NE(run.output.find(" inuse=2 "), std::string::npos) << run.output;
		EXPECT_EQ(lines_with(run.output, "TRACE "), 4u) << run.output;
		return;
	}
	struct slab_cache *traced = slab_cache_create("traced", 64, nullptr, 0);
	test_cache other(64);
	void *one = slab_alloc(traced), *two = slab_alloc(traced);

	slab_free(other, slab_alloc(other));
	slab_free(traced, one);
	slab_free(traced, two);
	EXPECT_EQ(slab_cache_destroy(traced), 0);
	EXPECT_EQ(reports_.count(), 0u);
}

/*
 * Validation of slabs without debug flags: a damaged map is reported and its objects are never
 * allocated again, and bad objects in arrays are found.
 */

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
