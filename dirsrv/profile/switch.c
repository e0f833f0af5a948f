/* SPDX-License-Identifier: MIT */
/*
 * The two variables that say what is recorded; pblock functions read them without a lock
 * (switch.h).
 */
#include "switch.h"

#include <slab/dirsrv/profile.h>

uint32_t pblock_recording;
uint32_t pblock_quick_numbers = SLAB_PBLOCK_NUMBERS;

void recording_begin(uint32_t bit)
{
	__atomic_fetch_or(&pblock_recording, bit, __ATOMIC_RELEASE);
	__atomic_store_n(&pblock_quick_numbers, 0, __ATOMIC_RELEASE);
}

void recording_end(uint32_t bit)
{
	if (!__atomic_and_fetch(&pblock_recording, ~bit, __ATOMIC_RELEASE))
		__atomic_store_n(&pblock_quick_numbers, SLAB_PBLOCK_NUMBERS, __ATOMIC_RELEASE);
}
