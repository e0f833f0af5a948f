/* SPDX-License-Identifier: MIT */
/*
 * Fork: the child of a process whose threads are in the middle of anything goes
 * on using every cache, frees what the parent allocated, and makes and destroys
 * caches of its own. A child that hangs is ended by its alarm and fails the test.
 */
#include "children.h"
#include "../support/rooms.h"

namespace
{

/* Threads that allocate and free without a pause, in slow paths for the most
 * part: many objects, caches that come and go, sizes, shrinking. */
class busy_threads
{
public:
	explicit busy_threads(struct slab_cache *cache) : cache_(cache)
	{
		for (int i = 0; i < 3; i++)
			threads_.emplace_back([this] { churn(); });
		threads_.emplace_back([this] { make_caches(); });
		threads_.emplace_back([this] { shrink(); });
	}

	~busy_threads()
	{
		stop_ = true;
		join_all(threads_);
	}

	busy_threads(const busy_threads &) = delete;
	busy_threads &operator=(const busy_threads &) = delete;

private:
	void churn()
	{
		while (!stop_) {
			std::vector<void *> objs = alloc_many(cache_, 400);
			void *memory = slab_malloc(50000);

			free_many(cache_, objs);
			slab_mfree(memory);
		}
	}

	void make_caches()
	{
		while (!stop_) {
			struct slab_cache *cache =
				slab_cache_create("comes-and-goes", 64, nullptr, 0);

			slab_free(cache, slab_alloc(cache));
			slab_cache_destroy(cache);
		}
	}

	void shrink()
	{
		while (!stop_)
			slab_cache_shrink(cache_);
	}

	struct slab_cache *cache_;
	std::atomic<bool> stop_{false};
	std::vector<std::thread> threads_;
};

TEST_F(ForkTest, AChildOfOneThreadGoesOn)
{
	test_cache cache(object_size);
	std::vector<void *> objs = stamped_objects(cache, 1000);

	EXPECT_IN_CHILD([&] { return live(cache, objs); });
	expect_stamped(objs);
	free_many(cache, objs);
}

TEST_F(ForkTest, TheParentsObjectsAreItsOwn)
{
	test_cache cache(object_size);
	std::vector<void *> objs = stamped_objects(cache, 1000);

	EXPECT_IN_CHILD([&] {
		for (void *obj : objs)
			std::memset(obj, 0xdd, object_size);
		free_many(cache, objs);
		return CHILD_FINE;
	});
	expect_stamped(objs);
	EXPECT_EQ(stats_of(cache).objects, objs.size());
	free_many(cache, objs);
}

TEST_F(ForkTest, AChildHasThreadsOfItsOwn)
{
	test_cache cache(object_size);
	std::vector<void *> objs = stamped_objects(cache, 1000);

	EXPECT_IN_CHILD([&] {
		std::atomic<int> worst{CHILD_FINE};
		std::vector<std::thread> threads;

		for (int i = 0; i < 4; i++)
			threads.emplace_back([&] {
				const int status = use_cache(cache, object_size);

				if (status != CHILD_FINE)
					worst = status;
			});
		join_all(threads);
		return worst.load() != CHILD_FINE ? worst.load() : live(cache, objs);
	});
	free_many(cache, objs);
}

/* The child is a process of its own: slabinfo says since when. */
TEST_F(ForkTest, AChildBeginsWithItsFork)
{
	const std::uint64_t started = slab_process.started, now = track_now();

	ASSERT_NE(started, 0u);
	slab_process.started = 1;
	EXPECT_IN_CHILD([&] { return slab_process.started >= now ? 0 : 1; });
	EXPECT_EQ(slab_process.started, 1u);
	slab_process.started = started;
}

TEST_F(ForkTest, GrandchildrenGoOn)
{
	test_cache cache(object_size);
	std::vector<void *> objs = stamped_objects(cache, 500);

	EXPECT_IN_CHILD([&] {
		const int status = use_cache(cache, object_size);
		const std::string failure = run_in_child([&] { return live(cache, objs); });

		if (status != CHILD_FINE)
			return status;
		return failure.empty() ? live(cache, objs) : int{CHILD_GRANDCHILD};
	});
	expect_stamped(objs);
	free_many(cache, objs);
}

TEST_F(ForkTest, AChildDestroysTheParentsCache)
{
	struct slab_cache *cache = slab_cache_create("inherited", 64, nullptr, 0);
	void *obj = slab_alloc(cache);

	EXPECT_IN_CHILD([&] {
		slab_free(cache, obj);
		return slab_cache_destroy(cache) == 0 ? CHILD_FINE : CHILD_NOT_DESTROYED;
	});
	slab_free(cache, obj);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_F(ForkTest, AChildOfABusyProcessGoesOn)
{
	test_cache cache(object_size);
	std::vector<void *> objs = stamped_objects(cache, 200);

	finish_before_fork(); /* threads that never sleep are not waited for each time */
	{
		busy_threads threads(cache);

		for (int i = 0; i < (under_asan ? 10 : 60) && !HasFailure(); i++)
			EXPECT_EQ(run_in_child_now([&] { return live(cache, objs); }), "") << i;
	}
	expect_stamped(objs);
	EXPECT_EQ(stats_of(cache).objects, objs.size());
	free_many(cache, objs);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

/* In the child, no thread has the slabs that the parent's thread had isolated. */
TEST_F(ForkTest, AChildDestroysACacheThatItsParentLooksThrough)
{
	struct slab_cache *cache = slab_cache_create("looked-at", 64, nullptr, 0);
	std::vector<void *> objs = alloc_many(cache, 5000);
	std::atomic<bool> stop{false};
	finish_before_fork(); /* threads that never sleep are not waited for each time */
	std::thread looker([&] {
		while (!stop) {
			slab_cache_validate(cache);
			slab_cache_shrink(cache);
		}
	});

	for (int i = 0; i < (under_asan ? 10 : 50) && !HasFailure(); i++)
		EXPECT_EQ(run_in_child_now([&] {
				  free_many(cache, objs);
				  return slab_cache_destroy(cache) == 0 ? CHILD_FINE
									: CHILD_NOT_DESTROYED;
			  }),
			  "")
			<< i;
	stop = true;
	looker.join();
	free_many(cache, objs);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

std::vector<int> blocked_signals()
{
	std::vector<int> blocked;
	sigset_t set;

	sigemptyset(&set);
	pthread_sigmask(SIG_BLOCK, nullptr, &set);
	for (int number = 1; number < NSIG; number++)
		if (sigismember(&set, number) == 1)
			blocked.push_back(number);
	return blocked;
}

TEST_F(ForkTest, AForkLeavesTheSignalMaskAlone)
{
	const std::vector<int> before = blocked_signals();

	EXPECT_IN_CHILD([&] { return blocked_signals() == before ? 0 : 1; });
	EXPECT_EQ(blocked_signals(), before);
}

TEST_F(ForkTest, SeveralThreadsForkAtOnce)
{
	test_cache cache(object_size);
	std::vector<std::thread> threads;
	std::atomic<int> failures{0};

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&] {
			for (int j = 0; j < 20; j++) {
				std::vector<void *> objs = stamped_objects(cache, 50);

				if (!run_in_child([&] { return live(cache, objs); }).empty())
					failures++;
				free_many(cache, objs);
			}
		});
	join_all(threads);
	EXPECT_EQ(failures, 0);
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

/* Signal handlers that fork, whatever they interrupt in a process with one thread. */

/* A child that does nothing; -1: it could not be made, or did not end well. */
int fork_nothing()
{
	const pid_t child = fork();
	int status = 0;

	if (child == 0)
		_exit(0);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && status == 0 ? 0 : -1;
}

/* In a process of one thread: what the C library has locked over fork() is its own. */
TEST_F(ForkTest, AHandlerForksWhileItsThreadForks)
{
	static std::atomic<int> forked, failed;
	std::vector<struct slab_cache *> caches;

	/* The more there is to lock, the more often the handler comes in the middle. */
	for (int i = 0; i < 300; i++)
		caches.push_back(
			slab_cache_create(("many-" + std::to_string(i)).c_str(), 64, nullptr, 0));
	EXPECT_IN_CHILD([] {
		const interruptions often(2000, [](int) {
			const int saved = errno;

			if (forked < 100) {
				failed += fork_nothing() != 0;
				forked++;
			}
			errno = saved;
		});

		for (int i = 0; i < 60; i++)
			if (fork_nothing() != 0)
				return 1;
		return failed || !forked ? 2 : 0;
	});
	for (struct slab_cache *cache : caches)
		EXPECT_EQ(slab_cache_destroy(cache), 0);
}

constexpr int forks_in_handlers = 100;
volatile sig_atomic_t forked_in_handler, failed_in_handler, is_handlers_child;

void interrupt_each(long ms)
{
	const struct itimerval times = {{0, ms * 1000}, {0, ms * 1000}};

	setitimer(ITIMER_PROF, &times, nullptr);
}

/* The child returns from the handler, too. It has no timer. */
void fork_in_handler(int)
{
	const int saved = errno;
	const pid_t child = fork();
	int status = 0;

	if (child == 0) {
		is_handlers_child = 1;
		errno = saved;
		return;
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	forked_in_handler = forked_in_handler + 1;
	failed_in_handler = failed_in_handler || child < 0 || status != 0;
	if (forked_in_handler >= forks_in_handlers || failed_in_handler)
		interrupt_each(0);
	errno = saved;
}

/* Whatever takes locks and isolates slabs. */
int use_everything(struct slab_cache *cache)
{
	std::vector<void *> objs = stamped_objects(cache, 1000);
	int status = use_malloc();

	if (status == CHILD_FINE && slab_cache_validate(cache) != 0)
		status = CHILD_NOT_VALID;
	for (std::size_t i = 0; i < objs.size(); i++)
		if (!intact(objs[i], object_size, i))
			return CHILD_NOT_INTACT;
	free_many(cache, objs);
	slab_cache_shrink(cache);
	slab_trim();
	return status == CHILD_FINE ? use_own_cache() : status;
}

/* The control thread would be a second one. */
TEST_F(ForkTest, AHandlerForksWhateverItInterruptsInTheOnlyThread)
{
	if (!in_environment({"SLAB_CONTROL=off"}))
		return;
	test_cache cache(object_size);
	int status = CHILD_FINE;

	signal(SIGPROF, fork_in_handler);
	interrupt_each(1);
	while (status == CHILD_FINE && forked_in_handler < forks_in_handlers &&
	       !failed_in_handler && !is_handlers_child)
		status = use_everything(cache);
	if (is_handlers_child) {
		alarm(child_seconds);
		_exit(status == CHILD_FINE ? use_everything(cache) : status);
	}
	EXPECT_EQ(status, CHILD_FINE);
	EXPECT_FALSE(failed_in_handler);
}

} /* namespace */
