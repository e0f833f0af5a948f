/* SPDX-License-Identifier: MIT */
#include "memory/turn.h"

bool turns_taken[TURNS];

void turns_after_fork_child(void)
{
	for (unsigned turn = 0; turn < TURNS; turn++)
		turns_taken[turn] = false;
}
