/* SPDX-License-Identifier: MIT */
/* Signal handlers that fork, whatever they interrupt in a process with one thread. */
#include "children.h"

namespace
{

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
