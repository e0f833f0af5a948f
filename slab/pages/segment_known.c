/* SPDX-License-Identifier: MIT */
/* Which addresses lie in a segment. */
#include "pages/segment.h"

#define ADDRESS_BITS 48

/* One bit for each SEGMENT_SIZE bytes of the address space. */
static uint64_t known[1u << (ADDRESS_BITS - SEGMENT_SHIFT - 6)];

void segment_set_known(const char *start, bool is_known)
{
	uintptr_t n = (uintptr_t)start >> SEGMENT_SHIFT;
	uint64_t bit = UINT64_C(1) << n % 64;

	if (is_known)
		__atomic_fetch_or(&known[n / 64], bit, __ATOMIC_RELEASE);
	else
		__atomic_fetch_and(&known[n / 64], ~bit, __ATOMIC_RELEASE);
}

bool segment_known(const void *ptr)
{
	uintptr_t n = (uintptr_t)ptr >> SEGMENT_SHIFT;

	if (n / 64 >= sizeof(known) / sizeof(known[0]))
		return false;
	return __atomic_load_n(&known[n / 64], __ATOMIC_ACQUIRE) >> n % 64 & 1;
}
