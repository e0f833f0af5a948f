/* SPDX-License-Identifier: MIT */
/* Forks of a thread that the scheduler runs. */
#pragma once

#include "../support/process.h"
#include "schedule.h"

/* Forks; the child does act(), whose result must be 0. */
inline std::function<void()> forks_now(const std::function<int()> &act)
{
	return [act] {
		EXPECT_EQ(run_in_child_now([&act] {
				  /* A lock that nobody drops. */
				  alarm(std::getenv("SLAB_GUARD_OFF") ? 2 : 8);
				  return act();
			  }),
			  "");
	};
}
