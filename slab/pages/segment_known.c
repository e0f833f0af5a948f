/* SPDX-License-Identifier: MIT */
/* The bitmap of segments, which segment_known() reads. Any address may be looked up in it, whether
 * or not it is mapped. */
#include "pages/segment.h"

uint64_t segment_known_map[SEGMENT_KNOWN_WORDS];

void segment_set_known(const char *start, bool is_known)
{
	uintptr_t n = (uintptr_t)start >> SEGMENT_SHIFT;
	uint64_t bit = UINT64_C(1) << n % 64;

	if (is_known)
		__atomic_fetch_or(&segment_known_map[n / 64], bit, __ATOMIC_RELEASE);
	else
		__atomic_fetch_and(&segment_known_map[n / 64], ~bit, __ATOMIC_RELEASE);
}
