/* SPDX-License-Identifier: MIT */
/*
 * Passes of maintenance, as fast as a test wants them: the clock is the test's own, and
 * no control thread runs any.
 */
#ifndef TESTS_SUPPORT_PASSES_H
#define TESTS_SUPPORT_PASSES_H

#include <cstdint>
#include <cstdlib>

#include "whitebox.h"

extern "C" {
#include "clock.h"
#include "decay.h"
}

namespace slab_test
{

/* Before libslab reads its environment; a test that runs again may have its own. */
inline const bool without_thread = setenv("SLAB_CONTROL", "off", 0) == 0;

/* Passes to a decay time, and after so many all is gone that was used just before. */
constexpr unsigned decay_turns = DECAY_TURNS;
constexpr unsigned enough_turns = DECAY_TURNS + 1;

/* The next pass, whenever it is due: what slab_maintain() would say. */
inline long run_pass()
{
	static std::uint64_t now;

	if (now < clock_us())
		now = clock_us();
	now += UINT64_C(1000000000);
	return decay_maintain(now);
}

inline void run_passes(unsigned n)
{
	while (n--)
		run_pass();
}

/* Until there are none any more: how many that took; 1000: they do not end. */
inline unsigned run_all_passes()
{
	unsigned n = 0;

	while (run_pass() >= 0 && n < 1000)
		n++;
	return n;
}

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_PASSES_H */
