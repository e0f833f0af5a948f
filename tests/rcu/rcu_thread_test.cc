/* SPDX-License-Identifier: MIT */
/*
 * libslab's own thread is registered with the flavour whose callbacks it runs. The child
 * of a fork, which has no such thread, does not wait for it.
 */
#include "../support/rcu_caches.h"
#include "../support/refuse.h"

namespace
{

class RcuThreadTest : public RcuTest
{
};

INSTANTIATE_TEST_SUITE_P(Flavours, RcuThreadTest, testing::ValuesIn(flavours),
			 [](const auto &info) { return info.param.name; });

thread_local bool called, called_unknown;

void note_whether_known()
{
	called = true;
	called_unknown |= times_registered != 1;
}

struct slab_cache *create_with_callbacks()
{
	struct slab_cache_args args = {};

	args.rcu = counting_flavour();
	args.ctor = [](void *, void *) { return 0; };
	args.reclaim = [](struct slab_cache *, void *) -> std::size_t {
		note_whether_known();
		return 0;
	};
	args.isolate = [](void *, void *) {
		note_whether_known();
		return 0;
	};
	args.migrate = [](void *, void *, void *) {
		note_whether_known();
		return 1;
	};
	return slab_cache_create("called", 512, &args, 0);
}

/* The call_rcu() thread begins later, so its fences fail, too. */
TEST_P(RcuThreadTest, WithoutAFenceTheBarrierAndDestructionSayWhatCpusHold)
{
	bool refused = false;

	if (rcu == &urcu_memb_flavor || rcu == &urcu_bp_flavor)
		GTEST_SKIP() << "liburcu aborts without membarrier(2)";
	std::thread([&refused] { refused = refuse_fences(); }).join();
	if (std::strcmp(slab_engine(), "rseq") != 0 || !refused)
		GTEST_SKIP() << "no rseq, or no seccomp filter here";
	if (!in_environment({}))
		return;
	std::thread([] {}).join();
	ASSERT_TRUE(refuse_fences());
	struct slab_cache *cache = create();

	slab_free_rcu(cache, slab_alloc(cache));
	EXPECT_EQ(slab_rcu_barrier(cache), -EPERM);
	EXPECT_EQ(slab_cache_destroy(cache), -EPERM);
	EXPECT_EQ(stats(cache).objects, 1u);
	while (__atomic_load_n(&cache->rcu->armed,
			       __ATOMIC_ACQUIRE)) /* no callback queues another */
		usleep(1000);
	for (std::uint64_t n = 0; n <= 2 * cache->rcu_max; n++)
		slab_free_rcu(cache, slab_alloc(cache));
	EXPECT_EQ(slab_rcu_barrier(cache), -EPERM);
	EXPECT_GE(stats(cache).rcu_freed, cache->rcu_max);
}

TEST(Rcu, CallbacksInOurThreadFindItRegistered)
{
	struct slab_cache *cache = create_with_callbacks();
	std::vector<void *> objects(1000);

	ASSERT_NE(cache, nullptr);
	for (void *&object : objects)
		object = slab_alloc(cache);
	for (std::size_t i = 0; i < objects.size(); i++)
		if (i % 8)
			slab_free(cache, objects[i]);
	std::thread([&] {
		struct rcu_thread rcu = {};

		rcu_this_thread_is_ours(&rcu);
		EXPECT_EQ(slab_cache_defrag(cache), 0);
		slab_reclaim(SIZE_MAX);
		EXPECT_TRUE(called);
		EXPECT_FALSE(called_unknown);
		EXPECT_EQ(times_registered, 0);
	}).join();
	EXPECT_GT(stats(cache).reclaims, 0u);
	for (std::size_t i = 0; i < objects.size(); i += 8)
		slab_free(cache, objects[i]);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* A callback of one cache may lead to those of another, with another flavour. */
TEST(Rcu, OurThreadRegistersWithEachFlavourOnce)
{
	static thread_local int first, other;
	static struct rcu_flavor_struct one = {}, two = {};

	one.register_thread = [] { first++; };
	one.unregister_thread = [] { first--; };
	two.register_thread = [] { other++; };
	two.unregister_thread = [] { other--; };
	std::thread([] {
		struct rcu_thread rcu = {};

		rcu_this_thread_is_ours(&rcu);

		const auto *outer = rcu_enter_flavor(&one), *inner = rcu_enter_flavor(&two);

		rcu_leave(rcu_enter_flavor(&one));
		EXPECT_EQ(first, 1);
		EXPECT_EQ(other, 1);
		rcu_leave(inner);
		EXPECT_EQ(other, 0);
		rcu_leave(outer);
		EXPECT_EQ(first, 0);
	}).join();
}

/* --- fork ------------------------------------------------------------------------------------- */

/* What fork() does in the parent. Meanwhile no thread takes objects out of an array. */
TEST_P(RcuThreadTest, FreesDoNotWaitForAFork)
{
	struct slab_cache *cache = create();
	std::atomic<bool> ended{false};

	rcu_fork_lock();
	for (int i = 0; i < 10000; i++)
		slab_free_rcu(cache, slab_alloc(cache));

	std::thread barrier([&] {
		registered there(rcu);

		EXPECT_EQ(slab_rcu_barrier(cache), 0);
		EXPECT_TRUE(ended);
	});

	std::this_thread::sleep_for(std::chrono::milliseconds(20));
	ended = true;
	rcu_fork_unlock();
	barrier.join();
	EXPECT_EQ(stats(cache).objects, 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* A signal handler that forks may have interrupted its own thread. */
TEST_P(RcuThreadTest, AForkDoesNotWaitForEver)
{
	struct slab_cache *cache = create();

	rcu_fork_lock();
	cache->rcu->taking = 1;
	rcu_fork_wait(cache);
	cache->rcu->taking = 0;
	rcu_fork_unlock();
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* No hooks are called, so there may never be a grace period in the child. */
TEST_P(RcuThreadTest, AChildFreesWithoutWaiting)
{
	struct slab_cache *cache = create();
	std::atomic<bool> stop{false};
	std::thread producer([&] {
		registered there(rcu);

		while (!stop)
			slab_free_rcu(cache, slab_alloc(cache));
	});

	for (int i = 0; i < 5; i++)
		EXPECT_IN_CHILD([&] {
			for (int n = 0; n < 1000; n++)
				slab_free_rcu(cache, slab_alloc(cache));
			return slab_cache_validate(cache) == 0 ? 0 : 1;
		});
	stop = true;
	producer.join();
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* Threads that waited for a grace period when the parent forked do not exist; nor is memory
 * for fresh structs, of which 16 share a page. */
TEST(Rcu, AChildWithoutMemoryFreesWithoutWaiting)
{
	struct slab_cache_args args = {};
	std::vector<struct slab_cache *> caches;

	args.rcu = &urcu_bp_flavor;
	for (unsigned i = 0; i < 80; i++) {
		const std::string name = "forked" + std::to_string(i);

		caches.push_back(slab_cache_create(name.c_str(), object_size, &args, 0));
		ASSERT_NE(caches.back(), nullptr);
		caches.back()->rcu->driving = 1;
	}
	ASSERT_EQ(slab_set_fail("interval=1"), 0);
	EXPECT_IN_CHILD([&] {
		slab_set_fail(nullptr);
		for (struct slab_cache *cache : caches)
			for (int n = 0; n < 10000; n++)
				slab_free_rcu(cache, slab_alloc(cache));
		return 0;
	});
	ASSERT_EQ(slab_set_fail(nullptr), 0);
	for (struct slab_cache *cache : caches) {
		cache->rcu->driving = 0;
		EXPECT_EQ(slab_cache_destroy(cache), 0);
	}
}

/* With the hooks of the flavour, a child has a callback thread of its own. */
TEST(Rcu, NothingWaitsForEverInAChild)
{
	struct slab_cache_args args = {};
	std::atomic<bool> stop{false};
	std::vector<std::thread> producers;

	args.rcu = &urcu_bp_flavor;

	struct slab_cache *cache = slab_cache_create("forked", 2048, &args, 0);

	for (int i = 0; i < 2; i++)
		producers.emplace_back([&] {
			while (!stop)
				slab_free_rcu(cache, slab_alloc(cache));
		});
	for (int i = 0; i < 20; i++) {
		std::this_thread::sleep_for(std::chrono::milliseconds(1 + i % 5));
		urcu_bp_call_rcu_before_fork();
		urcu_bp_before_fork();

		const pid_t child = fork();

		if (child == 0) {
			urcu_bp_after_fork_child();
			urcu_bp_call_rcu_after_fork_child();
			alarm(child_seconds);
			for (int n = 0; n < 20000; n++)
				slab_free_rcu(cache, slab_alloc(cache));
			_exit(slab_rcu_barrier(cache) != 0      ? 1
			      : stats(cache).rcu_pending != 0   ? 2
			      : slab_cache_validate(cache) != 0 ? 3
								: 0);
		}
		urcu_bp_after_fork_parent();
		urcu_bp_call_rcu_after_fork_parent();
		EXPECT_EQ(child_failure(child), "");
	}
	stop = true;
	join_all(producers);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* An object that a callback frees during the last grace period of a destruction. */
void *late;
struct slab_cache *late_cache;

/* bp; the second grace period lasts until another thread called reclaim functions. */
const struct rcu_flavor_struct *reclaiming_flavour()
{
	static struct rcu_flavor_struct copy = urcu_bp_flavor;

	copy.update_synchronize_rcu = [] {
		static int calls;

		urcu_bp_flavor.update_synchronize_rcu();
		if (++calls == 2)
			std::thread([] { slab_reclaim(SIZE_MAX); }).join();
	};
	return &copy;
}

TEST(Rcu, DestructionWaitsForWhatACallbackFreesMeanwhile)
{
	struct slab_cache_args args = {};

	args.rcu = reclaiming_flavour();
	args.reclaim = [](struct slab_cache *cache, void *) -> std::size_t {
		if (cache != late_cache || !late)
			return 0;
		slab_free_rcu(cache, late);
		late = nullptr;
		return 1;
	};
	late_cache = slab_cache_create("late", 64, &args, 0);
	ASSERT_NE(late_cache, nullptr);
	late = slab_alloc(late_cache);
	slab_free_rcu(late_cache, slab_alloc(late_cache));
	EXPECT_EQ(slab_cache_destroy(late_cache), 0);
	EXPECT_EQ(late, nullptr);
}

/* A thread of QSBR that is online counts as a reader, so it goes offline while it waits. */
TEST(RcuQsbrTest, AThreadThatIsOnlineMayWait)
{
	const struct rcu_flavor_struct &flavor = urcu_qsbr_flavor;
	struct slab_cache_args args = {};

	args.rcu = &flavor;
	flavor.register_thread();
	EXPECT_TRUE(flavor.read_ongoing());
	struct slab_cache *cache = slab_cache_create("qsbr", 64, &args, 0);

	slab_free_rcu(cache, slab_alloc(cache));
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_TRUE(flavor.read_ongoing());
	EXPECT_EQ(stats_of(cache).objects, 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	flavor.unregister_thread();
}

/*
 * Type-safe caches, with each of liburcu's flavours: objects are reused at once, and
 * slabs stay what they are until readers are gone.
 */

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
