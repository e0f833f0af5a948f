/* SPDX-License-Identifier: MIT */
/* The lock of four bytes. */
#include "../support/process.h"
#include "../support/rooms.h"

namespace
{

TEST(LockTest, OneThreadHasItAtATime)
{
	struct cpu_lock lock = {};
	unsigned long counter = 0;
	std::vector<std::thread> threads;

	for (int i = 0; i < 8; i++)
		threads.emplace_back([&] {
			for (int n = 0; n < 20000; n++) {
				cpu_lock_take(&lock);
				counter++;
				cpu_lock_drop(&lock);
			}
		});
	join_all(threads);
	EXPECT_EQ(counter, 160000u);
	EXPECT_EQ(lock.word, CPU_LOCK_FREE);
}

TEST(LockTest, TryFailsWhileAnotherHasIt)
{
	struct cpu_lock lock = {};

	EXPECT_TRUE(cpu_lock_try(&lock));
	EXPECT_FALSE(cpu_lock_try(&lock));
	cpu_lock_drop(&lock);
	EXPECT_TRUE(cpu_lock_try(&lock));
}

/* It must not burn the CPU that the holder may need; and errno is the caller's. */
TEST(LockTest, AThreadThatWaitsSleepsAndIsWoken)
{
	struct cpu_lock lock = {};
	int error = 0;

	cpu_lock_take(&lock);
	std::thread waiter([&] {
		errno = ENOTTY;
		cpu_lock_take(&lock);
		error = errno;
		cpu_lock_drop(&lock);
	});
	while (__atomic_load_n(&lock.word, __ATOMIC_RELAXED) != CPU_LOCK_WAITED_FOR ||
	       !other_threads_sleep())
		std::this_thread::yield();
	errno = EXDEV;
	cpu_lock_drop(&lock);
	EXPECT_EQ(errno, EXDEV);
	waiter.join();
	EXPECT_EQ(error, ENOTTY);
}

} /* namespace */
