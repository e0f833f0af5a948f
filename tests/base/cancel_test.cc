/* SPDX-License-Identifier: MIT */
/*
 * A thread with a pending cancellation calls libslab, whose callbacks, reports and system
 * calls are cancellation points: the call returns, the thread ends afterwards, and nothing
 * that libslab had locked stays locked. A test that hangs is ended by its alarm.
 */
#include "../support/cancelled.h"
#include "../support/movable.h"
#include "../support/process.h"
#include "../support/readers.h"

namespace
{

constexpr std::size_t object_size = 480;

/* How often a callback reached a cancellation point. */
unsigned reached;

void reach()
{
	reached++;
	pthread_testcancel();
}

/* A cache whose constructor and destructor are cancellation points, once `reaches` is set. */
struct reaching {
	reaching()
	{
		args.ctor = [](void *, void *arg) {
			if (static_cast<reaching *>(arg)->reaches)
				reach();
			return 0;
		};
		args.dtor = [](void *, void *arg) {
			if (static_cast<reaching *>(arg)->reaches)
				reach();
		};
		args.arg = this;
	}

	struct slab_cache_args args = {};
	bool reaches = false;
};

class CancelTest : public testing::Test
{
protected:
	void SetUp() override
	{
		if (under_tsan)
			GTEST_SKIP() << "ThreadSanitizer does not see that a cancelled thread ends";
		reached = 0;
		alarm(child_seconds);
	}

	/* Everything can still be used, by this thread and by a child. */
	void TearDown() override
	{
		if (!IsSkipped()) {
			use_everything();
			EXPECT_IN_CHILD([] { return use_everything() ? 0 : 1; });
		}
		alarm(0);
	}

	static bool use_everything()
	{
		struct slab_cache *cache = slab_cache_create("afterwards", 64, nullptr, 0);
		void *object = slab_alloc(cache), *memory = slab_malloc(100000);

		slab_mfree(memory);
		slab_free(cache, object);
		slab_trim();
		slab_for_each_cache(
			[](struct slab_cache *each, void *) {
				slab_cache_shrink(each);
				return slab_cache_validate(each) == 0 ? 0 : 1;
			},
			nullptr);
		return object && memory && slab_cache_destroy(cache) == 0;
	}

	/* The constructor reaches a cancellation point; the allocation succeeds all the same. */
	static void allocate_cancelled(std::uint64_t flags)
	{
		reaching callbacks;
		test_cache cache(object_size, flags, &callbacks.args);
		void *object = nullptr;

		callbacks.reaches = true;
		expect_not_cancelled_within([&] { object = slab_alloc(cache); });
		EXPECT_GT(reached, 0u);
		ASSERT_NE(object, nullptr);
		slab_free(cache, object);
	}
};

TEST_F(CancelTest, Constructors)
{
	allocate_cancelled(0);
	reached = 0;
	allocate_cancelled(SLAB_RED_ZONE);
}

TEST_F(CancelTest, SampledObjects)
{
	reaching callbacks;
	test_cache cache(object_size, 0, &callbacks.args);

	ASSERT_EQ(slab_cache_sample(cache, 1), 0);
	callbacks.reaches = true;
	expect_not_cancelled_within([&] { slab_free(cache, slab_alloc(cache)); });
	EXPECT_GT(reached, 1u);
}

TEST_F(CancelTest, CreationWithAReserve)
{
	reaching callbacks;
	struct slab_cache *cache = nullptr;

	callbacks.args.reserve = 10;
	callbacks.reaches = true;
	expect_not_cancelled_within(
		[&] { cache = slab_cache_create("reserving", object_size, &callbacks.args, 0); });
	EXPECT_GT(reached, 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_F(CancelTest, Destructors)
{
	for (const std::string where : {"shrink", "trim", "destroy"}) {
		reaching callbacks;
		struct slab_cache *cache =
			slab_cache_create("ends", object_size, &callbacks.args, 0);

		reached = 0;
		free_many(cache, alloc_many(cache, 2000));
		callbacks.reaches = true;
		expect_not_cancelled_within([&] {
			if (where == "shrink")
				slab_cache_shrink(cache);
			else if (where == "trim")
				slab_trim();
			else
				slab_cache_destroy(cache);
		});
		EXPECT_GT(reached, 0u) << where;
		if (where != "destroy") {
			EXPECT_EQ(slab_cache_destroy(cache), 0);
		}
	}
}

TEST_F(CancelTest, DestructorsInAFree)
{
	reaching callbacks;
	test_cache cache(object_size, SLAB_RED_ZONE, &callbacks.args);
	const std::vector<void *> objects = alloc_many(cache, 4000);

	callbacks.reaches = true;
	expect_not_cancelled_within([&] { free_many(cache, objects); });
	EXPECT_GT(reached, 0u);
}

TEST_F(CancelTest, TheReportHandlerInALeakReport)
{
	test_cache cache(object_size);
	void *object = slab_alloc(cache);

	slab_set_report_handler([](const struct slab_report *, void *) { reach(); }, nullptr);
	expect_not_cancelled_within([&] { EXPECT_EQ(slab_cache_destroy(cache), -EBUSY); });
	slab_set_report_handler(nullptr, nullptr);
	EXPECT_EQ(reached, 1u);
	slab_free(cache, object);
}

/* Its output goes nowhere, as long as it lives. */
class silence
{
public:
	silence() : stderr_(dup(STDERR_FILENO))
	{
		const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(nowhere, STDERR_FILENO);
		close(nowhere);
	}

	~silence()
	{
		dup2(stderr_, STDERR_FILENO);
		close(stderr_);
	}

	silence(const silence &) = delete;
	silence &operator=(const silence &) = delete;

private:
	int stderr_;
};

TEST_F(CancelTest, WritingALeakReport)
{
	test_cache cache(object_size, SLAB_STORE_USER);
	void *object = slab_alloc(cache);

	{
		const silence quiet;

		expect_not_cancelled_within([&] { EXPECT_EQ(slab_cache_destroy(cache), -EBUSY); });
	}
	slab_free(cache, object);
}

TEST_F(CancelTest, WritingAReportOfADoubleFree)
{
	test_cache cache(object_size, SLAB_CONSISTENCY_CHECKS);
	const silence quiet;

	expect_not_cancelled_within([&] {
		void *object = slab_alloc(cache), *volatile again = object;

		slab_free(cache, object);
		slab_free(cache, again);
	});
}

TEST_F(CancelTest, WritingATrace)
{
	test_cache cache(object_size, SLAB_TRACE);
	const silence quiet;

	expect_not_cancelled_within([&] { slab_free(cache, slab_alloc(cache)); });
}

TEST_F(CancelTest, ReclaimCallbacksAndTheLimitHandler)
{
	struct slab_cache_args args = {};

	args.limit = 1 << 20;
	args.reclaim = [](struct slab_cache *, void *) {
		reach();
		return std::size_t{0};
	};
	test_cache cache(object_size, 0, &args);
	std::vector<void *> objects;

	while (void *object = slab_alloc(cache))
		objects.push_back(object);
	slab_set_limit_handler(
		[](struct slab_cache *, std::size_t, const char *, void *) { reach(); }, nullptr);
	reached = 0;
	expect_not_cancelled_within([&] { EXPECT_EQ(slab_alloc(cache), nullptr); });
	slab_set_limit_handler(nullptr, nullptr);
	EXPECT_GE(reached, 2u);
	free_many(cache, objects);
}

TEST_F(CancelTest, SlabReclaim)
{
	struct slab_cache_args args = {};

	args.reclaim = [](struct slab_cache *, void *) {
		reach();
		return std::size_t{0};
	};
	test_cache cache(object_size, 0, &args);
	void *object = slab_alloc(cache);

	expect_not_cancelled_within([] { slab_reclaim(std::size_t{1} << 40); });
	EXPECT_GT(reached, 0u);
	slab_free(cache, object);
}

TEST_F(CancelTest, IsolateAndMigrate)
{
	struct slab_cache_args args = {};

	args.ctor = [](void *, void *) { return 0; };
	args.isolate = [](void *, void *) {
		reach();
		return 0;
	};
	args.migrate = [](void *, void *, void *) {
		reach();
		return 1;
	};
	test_cache cache(object_size, 0, &args);
	std::vector<void *> objects = alloc_many(cache, 4000), rest;

	for (std::size_t i = 0; i < objects.size(); i++) {
		if (i % 10)
			slab_free(cache, objects[i]);
		else
			rest.push_back(objects[i]);
	}
	expect_not_cancelled_within([&] { EXPECT_GE(slab_cache_defrag(cache), 0); });
	EXPECT_GT(reached, 1u);
	EXPECT_EQ(slab_cache_defrag(cache), 0);
	free_many(cache, rest);
}

/* An allocation or a free does so where the control thread has no timer, since it starts or the
 * program closed its descriptors. */
TEST_F(CancelTest, WakingTheControlThread)
{
	struct watch watch = WATCH_NONE;

	ASSERT_EQ(watch_open(&watch, DESCRIPTORS_FROM), 0);
	expect_not_cancelled_within([&] { watch_wake(&watch); });
	watch_close(&watch);
}

TEST_F(CancelTest, ForEachCache)
{
	test_cache cache(object_size);

	expect_not_cancelled_within([] {
		slab_for_each_cache(
			[](struct slab_cache *, void *) {
				reach();
				return 0;
			},
			nullptr);
	});
	EXPECT_GT(reached, 0u);
}

TEST_F(CancelTest, GracePeriods)
{
	static const struct rcu_flavor_struct flavour = [] {
		struct rcu_flavor_struct copy = urcu_memb_flavor;

		copy.update_synchronize_rcu = [] {
			reach();
			urcu_memb_flavor.update_synchronize_rcu();
		};
		return copy;
	}();
	struct slab_cache_args args = {};

	args.rcu = &flavour;
	const registered here(&flavour);
	test_cache cache(object_size, 0, &args);

	expect_not_cancelled_within([&] {
		const registered there(&flavour);

		slab_free_rcu(cache, slab_alloc(cache));
		EXPECT_EQ(slab_rcu_barrier(cache), 0);
	});
	EXPECT_GT(reached, 0u);
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
}

TEST_F(CancelTest, EveryEntryOfTheInterface)
{
	test_cache cache(object_size);

	expect_not_cancelled_within([&] {
		free_many(cache, alloc_many(cache, 1000));
		slab_cache_debug(cache, SLAB_RED_ZONE);
		slab_cache_debug(cache, 0);
		EXPECT_GE(slab_cache_shrink(cache), 0);
		EXPECT_EQ(slab_cache_validate(cache), 0);
		EXPECT_EQ(slab_cache_sample(cache, 0), 0);
		EXPECT_EQ(slab_set_fail(nullptr), 0);
		slab_maintain();
		slab_mfree(slab_malloc(300000));
		EXPECT_TRUE(use_everything());
	});
}

/* The first call of all initializes libslab: it opens files, and starts a thread. */
TEST_F(CancelTest, TheFirstAllocationOfAll)
{
	if (!in_environment({}))
		return;
	expect_not_cancelled_within([] { slab_mfree(slab_malloc(24)); });
}

/* The first revocation reads it, on the slow path of an allocation or a free. */
TEST_F(CancelTest, ReadingTheNumberOfCpus)
{
	if (!in_environment({}))
		return;
	expect_not_cancelled_within([] { EXPECT_GT(cpu_possible(), 0U); });
}

TEST_F(CancelTest, AForkAndItsChild)
{
	pid_t child = -1;

	expect_not_cancelled_within([&] {
		child = fork();
		if (child == 0)
			_exit(use_everything() ? 0 : 1);
	});
	EXPECT_EQ(child_failure(child), "");
}

} /* namespace */
