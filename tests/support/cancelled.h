/* SPDX-License-Identifier: MIT */
/* Calls by a thread with a pending cancellation. */
#pragma once

#include "test.h"

struct cancelled_call {
	std::function<void()> call;
	bool returned;
};

inline void *call_cancelled(void *arg)
{
	auto *cancelled = static_cast<cancelled_call *>(arg);

	pthread_cancel(pthread_self());
	cancelled->call();
	cancelled->returned = true;
	pthread_testcancel();
	return nullptr;
}

/* Expects that call() returns in a thread with a pending cancellation, which then ends it. */
inline void expect_not_cancelled_within(std::function<void()> call)
{
	cancelled_call cancelled = {std::move(call), false};
	pthread_t thread;
	void *result = nullptr;

	ASSERT_EQ(pthread_create(&thread, nullptr, call_cancelled, &cancelled), 0);
	ASSERT_EQ(pthread_join(thread, &result), 0);
	EXPECT_TRUE(cancelled.returned);
	EXPECT_EQ(result, PTHREAD_CANCELED);
}
