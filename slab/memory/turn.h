/* SPDX-License-Identifier: MIT */
/* Turns: work that one thread does at a time. The others do not wait, but leave it to that
 * thread. */
#pragma once

#include <stdbool.h>

enum turn {
	TURN_DECAY, /* a pass (decay.c) */
	TURN_REVIEW, /* of caches (growth.c) */
	TURN_SURPLUS, /* a piece of it goes back (surplus.c) */
	TURN_SOFT, /* work above the soft limit (soft.c) */
	TURN_MACHINE, /* reading its limits (machine.c) */
	TURN_PRESSURE, /* reading its files, and reclaiming (pressure.c) */
	TURN_HOLDERS, /* the report (holders.c) */
	TURNS
};

extern bool turns_taken[TURNS];

/* false: another thread has it. */
static inline bool turn_take(enum turn turn)
{
	return !__atomic_exchange_n(&turns_taken[turn], true, __ATOMIC_ACQUIRE);
}

static inline void turn_end(enum turn turn)
{
	__atomic_store_n(&turns_taken[turn], false, __ATOMIC_RELEASE);
}

/* In the child of a fork: the threads that had them do not exist there. */
void turns_after_fork_child(void);
