/* SPDX-License-Identifier: MIT */
/*
 * Destruction runs the application's code, and writes, with no lock of libslab's held: others
 * fork, create and destroy caches meanwhile, and so do the callbacks themselves. A test that
 * hangs is ended by its alarm.
 */
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/reports.h"
#include "../support/without_thread.h"
#include "../support/rooms.h"

namespace
{

constexpr std::size_t object_size = 480;

class DestroyTest : public testing::Test
{
protected:
	void SetUp() override
	{
		ASSERT_TRUE(without_thread); /* its passes call destructors, too */
		alarm(child_seconds);
	}

	void TearDown() override { alarm(0); }
};

/* All that callbacks may do with other caches. */
bool use_another(const char *name)
{
	struct slab_cache *cache = slab_cache_create(name, 64, nullptr, 0);
	void *object = slab_alloc(cache), *memory = slab_malloc(100);

	slab_mfree(memory);
	slab_free(cache, object);
	return object && memory && slab_cache_shrink(cache) >= 0 && slab_cache_destroy(cache) == 0;
}

/* --- leak reports ------------------------------------------------------------------------ */

/* A pipe that is full stands in for stderr. */
class full_stderr
{
public:
	full_stderr() : stderr_(dup(STDERR_FILENO))
	{
		char bytes[4096] = {};

		EXPECT_EQ(pipe2(pipe_, O_CLOEXEC | O_NONBLOCK), 0);
		while (write(pipe_[1], bytes, sizeof(bytes)) > 0)
			;
		fcntl(pipe_[1], F_SETFL, 0);
		dup2(pipe_[1], STDERR_FILENO);
		close(pipe_[1]);
	}

	/* Threads that wait to write go on. */
	~full_stderr()
	{
		dup2(stderr_, STDERR_FILENO);
		close(stderr_);
		close(pipe_[0]);
	}

	full_stderr(const full_stderr &) = delete;
	full_stderr &operator=(const full_stderr &) = delete;

private:
	int stderr_, pipe_[2];
};

/* body() while another thread waits for room to write what remains in a cache. */
void while_a_leak_is_written(struct slab_cache *cache, const std::function<void()> &body)
{
	const unsigned long before = report_count();
	std::atomic<int> result{0};
	std::thread other;

	signal(SIGPIPE, SIG_IGN);
	{
		const full_stderr full;

		other = std::thread([&] { result = slab_cache_destroy(cache); });
		while (report_count() == before)
			usleep(1000);
		body();
	}
	other.join();
	signal(SIGPIPE, SIG_DFL);
	EXPECT_EQ(result, -EBUSY);
}

TEST_F(DestroyTest, AForkDoesNotWaitForALeakReport)
{
	test_cache cache(object_size);
	void *object = slab_alloc(cache);
	std::string failure = "not run";

	while_a_leak_is_written(cache, [&] {
		failure = run_in_child_now([&] {
			slab_free(cache, object);
			return use_another("child") && slab_cache_destroy(cache) == 0 ? 0 : 1;
		});
	});
	EXPECT_EQ(failure, "");
	slab_free(cache, object);
}

TEST_F(DestroyTest, OthersDoNotWaitForALeakReport)
{
	test_cache cache(object_size);
	void *object = slab_alloc(cache);
	bool used = false;

	while_a_leak_is_written(cache, [&] {
		used = use_another("others");
		slab_trim();
		slab_reclaim(1);
	});
	EXPECT_TRUE(used);
	slab_free(cache, object);
}

/* Bytes of a thread's stack that body() touches. */
std::size_t stack_of(const std::function<void()> &body)
{
	constexpr std::size_t size = 1 << 20;
	constexpr unsigned char paint = 0xa5;
	auto *stack = static_cast<unsigned char *>(
		mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	std::function<void()> copy = body;
	pthread_attr_t attr;
	pthread_t thread;
	std::size_t free_bytes = 0;

	std::memset(stack, paint, size);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, size);
	EXPECT_EQ(pthread_create(
			  &thread, &attr,
			  [](void *arg) -> void * {
				  (*static_cast<std::function<void()> *>(arg))();
				  return nullptr;
			  },
			  &copy),
		  0);
	pthread_join(thread, nullptr);
	pthread_attr_destroy(&attr);
	while (free_bytes < size && stack[free_bytes] == paint)
		free_bytes++;
	munmap(stack, size);
	return size - free_bytes;
}

TEST_F(DestroyTest, ALeakReportNeedsLittleStack)
{
	if (under_asan || under_tsan)
		GTEST_SKIP() << "sanitizers enlarge frames";
	test_cache plain(object_size), tracked(object_size, SLAB_STORE_USER);
	std::vector<void *> of_plain = alloc_many(plain, 100),
			    of_tracked = alloc_many(tracked, 100);
	const report_capture reports;
	const std::size_t idle = stack_of([] {});

	EXPECT_LT(stack_of([&] { slab_cache_destroy(plain); }) - idle, std::size_t{16384});
	EXPECT_LT(stack_of([&] { slab_cache_destroy(tracked); }) - idle, std::size_t{16384});
	EXPECT_GE(reports.count(), 2u);
	free_many(plain, of_plain);
	free_many(tracked, of_tracked);
}

TEST_F(DestroyTest, AReportHandlerUsesOtherCaches)
{
	static bool used;
	test_cache cache(object_size);
	void *object = slab_alloc(cache);

	used = false;
	slab_set_report_handler(
		[](const struct slab_report *, void *) { used = use_another("handlers"); },
		nullptr);
	EXPECT_EQ(slab_cache_destroy(cache), -EBUSY);
	slab_set_report_handler(nullptr, nullptr);
	EXPECT_TRUE(used);
	slab_free(cache, object);
}

TEST_F(DestroyTest, AReportHandlerDoesNotDestroyTheCacheOnceMore)
{
	static int result;
	test_cache cache(object_size);
	void *object = slab_alloc(cache);

	slab_set_report_handler(
		[](const struct slab_report *, void *arg) {
			result = slab_cache_destroy(static_cast<struct slab_cache *>(arg));
		},
		static_cast<struct slab_cache *>(cache));
	EXPECT_EQ(slab_cache_destroy(cache), -EBUSY);
	slab_set_report_handler(nullptr, nullptr);
	EXPECT_EQ(result, -EBUSY);
	slab_free(cache, object);
}

TEST_F(DestroyTest, ARefusedCacheGoesOn)
{
	struct slab_cache_args args = {};
	const report_capture reports;

	args.reserve = 5;
	test_cache cache(object_size, 0, &args);
	void *object = slab_alloc(cache);

	EXPECT_EQ(slab_cache_destroy(cache), -EBUSY);
	EXPECT_EQ(slab_cache_create(slab_cache_name(cache), 64, nullptr, 0), nullptr);
	EXPECT_EQ(errno, EEXIST);
	EXPECT_EQ(stats_of(cache).reserve_left, 5u);
	free_many(cache, alloc_many(cache, 1000));
	EXPECT_GE(slab_cache_shrink(cache), 0);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	slab_free(cache, object);
}

/* --- callbacks ---------------------------------------------------------------------------- */

/* What a constructor and a destructor do, when it is set. */
struct callbacks {
	explicit callbacks(std::uint64_t flags = 0)
	{
		struct slab_cache_args args = {};

		args.ctor = [](void *, void *arg) {
			auto *self = static_cast<callbacks *>(arg);

			return self->on_ctor ? self->on_ctor() : 0;
		};
		args.dtor = [](void *, void *arg) {
			auto *self = static_cast<callbacks *>(arg);

			if (self->on_dtor)
				self->on_dtor();
		};
		args.arg = this;
		cache = slab_cache_create("with-callbacks", object_size, &args, flags);
	}

	void fill_and_empty() const { free_many(cache, alloc_many(cache, 2000)); }

	struct slab_cache *cache;
	std::function<int()> on_ctor;
	std::function<void()> on_dtor;
};

class CallbackTest : public DestroyTest, public testing::WithParamInterface<std::uint64_t>
{
};

INSTANTIATE_TEST_SUITE_P(Flags, CallbackTest,
			 testing::Values(UINT64_C(0), std::uint64_t{SLAB_RED_ZONE}));

TEST_P(CallbackTest, AConstructorUsesOtherCaches)
{
	callbacks with(GetParam());
	unsigned failures = 0, calls = 0;

	with.on_ctor = [&] {
		calls++;
		failures += !use_another("constructors");
		return 0;
	};
	slab_free(with.cache, slab_alloc(with.cache));
	EXPECT_GT(calls, 0u);
	EXPECT_EQ(failures, 0u);
	EXPECT_EQ(slab_cache_destroy(with.cache), 0);
}

TEST_P(CallbackTest, ADestructorUsesOtherCaches)
{
	callbacks with(GetParam());
	unsigned failures = 0, calls = 0;

	with.fill_and_empty();
	with.on_dtor = [&] {
		if (calls++ < 50)
			failures += !use_another("destructors");
	};
	EXPECT_GE(slab_cache_shrink(with.cache), 0);
	EXPECT_GT(calls, 0u);
	with.on_dtor = nullptr;
	with.fill_and_empty();
	calls = 0;
	with.on_dtor = [&] {
		if (calls++ < 50)
			failures += !use_another("destructors");
	};
	EXPECT_EQ(slab_cache_destroy(with.cache), 0);
	EXPECT_GT(calls, 0u);
	EXPECT_EQ(failures, 0u);
}

TEST_P(CallbackTest, ADestructorDoesNotDestroyItsOwnCache)
{
	callbacks with(GetParam());
	int result = 0;

	with.fill_and_empty();
	with.on_dtor = [&] { result = slab_cache_destroy(with.cache); };
	EXPECT_GE(slab_cache_shrink(with.cache), 0);
	EXPECT_EQ(result, -EBUSY);
	with.fill_and_empty();
	result = 0;
	EXPECT_EQ(slab_cache_destroy(with.cache), 0);
	EXPECT_EQ(result, -EBUSY);
}

/* What fails in a destructor fails: other caches' destructors do not run for it. */
TEST_P(CallbackTest, ADestructorMeetsALimit)
{
	callbacks with(GetParam());
	struct slab_cache_args args = {};
	std::vector<void *> objects;
	unsigned refused = 0;

	args.limit = 1 << 20;
	test_cache limited(object_size, 0, &args);
	while (void *object = slab_alloc(limited))
		objects.push_back(object);
	with.fill_and_empty();
	with.on_dtor = [&] { refused += !slab_alloc(limited); };
	EXPECT_EQ(slab_cache_destroy(with.cache), 0);
	EXPECT_GT(refused, 0u);
	free_many(limited, objects);
}

/* body() while another thread, which destroys the cache, is in the tenth destructor. */
void while_destroyed(callbacks &with, const std::function<void()> &body)
{
	std::atomic<unsigned> calls{0};
	std::atomic<bool> go{false};

	with.fill_and_empty();
	with.on_dtor = [&] {
		if (++calls == 10)
			while (!go)
				usleep(1000);
	};
	std::thread other([&] { EXPECT_EQ(slab_cache_destroy(with.cache), 0); });

	while (calls < 10)
		usleep(1000);
	body();
	go = true;
	other.join();
}

TEST_P(CallbackTest, OthersDoNotWaitForADestructor)
{
	callbacks with(GetParam());

	while_destroyed(with, [] {
		EXPECT_TRUE(use_another("meanwhile"));
		slab_trim();
		slab_for_each_cache(
			[](struct slab_cache *cache, void *) {
				slab_cache_validate(cache);
				return 0;
			},
			nullptr);
	});
}

TEST_P(CallbackTest, ItsNameIsTakenUntilItIsGone)
{
	callbacks with(GetParam());

	while_destroyed(with, [] {
		EXPECT_EQ(slab_cache_create("with-callbacks", 64, nullptr, 0), nullptr);
		EXPECT_EQ(errno, EEXIST);
	});
	EXPECT_TRUE(use_another("with-callbacks"));
}

/* A thread that the child lacks was at it. */
TEST_P(CallbackTest, AChildHasTheCacheAndDestroysTheRest)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer ends children that start threads";

	callbacks with(GetParam());

	while_destroyed(with, [&] {
		EXPECT_IN_CHILD([&] {
			with.on_dtor = nullptr;
			if (slab_cache_validate(with.cache) != 0)
				return 1;
			with.fill_and_empty();
			return slab_cache_destroy(with.cache) == 0 ? 0 : 2;
		});
	});
}

/* Slabs that the child finds: listed as empty, or on their way to the page layer. */
unsigned found_slabs(struct slab_cache *cache)
{
	unsigned n = stats_of(cache).empty;

	for (unsigned node = 0; node < topology_nodes(); node++)
		for (struct slab *slab = cache->node[node].leaving.first; slab; slab = slab->next)
			n++;
	return n;
}

/* The first destructor of many slabs forks: the child finds all of them. */
TEST_F(DestroyTest, AChildOfADestructorHasTheSlabsThatAreLeft)
{
	static struct slab_cache *ending;
	static pid_t child;
	struct slab_cache_args args = {};

	args.dtor = [](void *, void *) {
		if (!child && (child = fork()) == 0)
			_exit(found_slabs(ending) == stats_of(ending).slabs ? 0 : 1);
	};
	ending = slab_cache_create("ending", object_size, &args, 0);
	ASSERT_EQ(slab_stat_write(ending, "min_partial", 1000), 0);
	free_many(ending, alloc_many(ending, 5000)); /* destroys none: min_partial */
	ASSERT_EQ(child, 0);
	EXPECT_EQ(slab_cache_destroy(ending), 0);
	EXPECT_EQ(child_failure(child), "");
}

TEST_F(DestroyTest, ForEachCachesFunctionUsesOtherCaches)
{
	static unsigned failures, calls;
	test_cache cache(object_size);

	slab_for_each_cache(
		[](struct slab_cache *, void *) {
			calls++;
			failures += !use_another("within-for-each");
			return 0;
		},
		nullptr);
	EXPECT_GT(calls, 0u);
	EXPECT_EQ(failures, 0u);
}

TEST_F(DestroyTest, ForEachCachesFunctionDoesNotDestroyItsCache)
{
	test_cache cache(object_size);
	int result = slab_for_each_cache(
		[](struct slab_cache *each, void *wanted) {
			return each == wanted ? slab_cache_destroy(each) : 0;
		},
		static_cast<struct slab_cache *>(cache));

	EXPECT_EQ(result, -EBUSY);
}

} /* namespace */
