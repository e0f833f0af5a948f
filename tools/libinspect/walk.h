/* SPDX-License-Identifier: MIT */
/* Detection of loops in lists that are read from another process's memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Brent's algorithm: a walk that reaches a remembered address again is in a loop. */
struct walk {
	uint64_t remembered;
	uint64_t steps, until;
};

static inline bool goes_round(struct walk *walk, uint64_t address)
{
	if (address == walk->remembered)
		return true;
	if (walk->steps++ >= walk->until) {
		walk->remembered = address;
		walk->until = 2 * walk->steps;
	}
	return false;
}
