/* SPDX-License-Identifier: MIT */
/* Threads that end, signal handlers, and libraries that come and go. */
#include "preloaded.h"

#include "../support/process.h"

namespace
{

/* Freed by the destructor of a thread_local object, which runs after main code of the thread. */
struct keeper {
	std::vector<std::unique_ptr<char[]>> blocks;

	~keeper()
	{
		blocks.clear();
		for (std::size_t size = 8; size < 100000; size *= 2)
			free(malloc(size));
	}
};

thread_local keeper kept;
std::atomic<unsigned> destroyed;

/* A key's destructor runs later than those of thread_local objects. It allocates once more. */
void destroy(void *value)
{
	free(value);
	free(malloc(1000));
	destroyed++;
}

TEST(PreloadedThreads, DestructorsOfThreadsFree)
{
	constexpr unsigned rounds = 50, threads = 4;
	pthread_key_t key;

	ASSERT_EQ(pthread_key_create(&key, destroy), 0);
	destroyed = 0;
	for (unsigned round = 0; round < rounds; round++) {
		std::vector<std::thread> all;

		for (unsigned i = 0; i < threads; i++)
			all.emplace_back([key] {
				pthread_setspecific(key, malloc(100));
				for (std::size_t n = 0; n < 50; n++)
					kept.blocks.emplace_back(new char[n * 100 + 1]);
			});
		join_all(all);
	}
	EXPECT_EQ(destroyed, rounds * threads);
	pthread_key_delete(key);
}

TEST(PreloadedThreads, AnotherThreadFrees)
{
	std::vector<char *> blocks(20000);

	std::thread([&] {
		for (std::size_t i = 0; i < blocks.size(); i++)
			std::memset(blocks[i] = new char[i % 3000 + 1], 1, i % 3000 + 1);
	}).join();
	std::thread([&] {
		for (char *block : blocks)
			delete[] block;
	}).join();
}

volatile sig_atomic_t signals, signals_wrong;

void handle(int)
{
	const int saved = errno;
	char *ptr = static_cast<char *>(malloc(64));

	signals = signals + 1;
	if (!ptr)
		signals_wrong = signals_wrong + 1;
	else
		std::memset(ptr, 's', 64);
	free(ptr);
	errno = saved;
}

/*
 * A signal handler must not call malloc(), and with the C library's it may wait forever for a lock
 * that its own thread has. Here it may, too, but not on the fast path, which has no lock.
 */
TEST(PreloadedThreads, ASignalHandlerAllocatesBesideTheFastPath)
{
	const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {};
	char *ptr;

	if (std::strcmp(slab_engine(), "rseq") != 0)
		GTEST_SKIP() << "this engine takes locks";
	/* Both hold a block at a time, so these two stay with the CPU. */
	char *one = static_cast<char *>(malloc(64)), *other = static_cast<char *>(malloc(64));

	free(one);
	free(other);
	alarm(child_seconds);
	action.sa_handler = handle;
	sigaction(SIGPROF, &action, nullptr);
	setitimer(ITIMER_PROF, &often, nullptr);
	while (signals < 200) {
		ptr = static_cast<char *>(malloc(64));
		std::memset(ptr, 'm', 64);
		for (int i = 0; i < 64; i++)
			if (ptr[i] != 'm')
				signals_wrong = signals_wrong + 1;
		free(ptr);
	}
	setitimer(ITIMER_PROF, &never, nullptr);
	EXPECT_EQ(signals_wrong, 0);
	alarm(0);
}

/* The dynamic linker allocates, and a library's memory stays when it goes. */
TEST(PreloadedThreads, LibrariesComeAndGo)
{
	for (unsigned i = 0; i < 50; i++) {
		void *library = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL), *found;
		char *(*make)(const char *) = nullptr;
		char *text;

		ASSERT_NE(library, nullptr) << dlerror();
		found = dlsym(library, "plugin_copy");
		std::memcpy(&make, &found, sizeof(make));
		text = make("of a library that is gone");
		EXPECT_EQ(dlclose(library), 0);
		EXPECT_STREQ(text, "of a library that is gone");
		free(text);
		EXPECT_EQ(dlsym(RTLD_DEFAULT, "no_such_function"), nullptr);
	}
}

} /* namespace */
