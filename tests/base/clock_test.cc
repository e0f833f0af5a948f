/* SPDX-License-Identifier: MIT */
/* Waits with a time limit: a step of the realtime clock changes none. */
#include "../support/rooms.h"

namespace
{

/* The realtime clock goes an hour forward whenever something reads it. */
time_t steps;

} /* namespace */

extern "C" int clock_gettime(clockid_t clock, struct timespec *ret)
{
	const long result = syscall(SYS_clock_gettime, clock, ret);

	if (clock == CLOCK_REALTIME)
		ret->tv_sec += 3600 * ++steps;
	return static_cast<int>(result);
}

namespace
{

TEST(ClockTest, AStepOfTheRealtimeClockLengthensNoWaitForALock)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	alarm(120); /* the wait would be an hour */
	ASSERT_EQ(pthread_mutex_lock(&lock), 0);
	EXPECT_FALSE(mutex_lock_timed(&lock));
	EXPECT_EQ(pthread_mutex_unlock(&lock), 0);
	EXPECT_TRUE(mutex_lock_timed(&lock));
	pthread_mutex_unlock(&lock);
	alarm(0);
}

} /* namespace */
