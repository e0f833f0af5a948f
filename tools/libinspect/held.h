/* SPDX-License-Identifier: MIT */
/*
 * Free objects that lie beside their slabs: in the arrays of CPUs, in magazines, in the arrays of
 * objects that wait for a grace period, and in reserves. To their slabs they are in use.
 */
#pragma once

#include "process.h"

enum held_by {
	HELD_BY_CPU, /* in its array */
	HELD_IN_MAGAZINE,
	HELD_WAITING, /* for a grace period */
	HELD_IN_RESERVE,
};

struct held {
	uint64_t address;
	uint32_t cache; /* the number of the loaded cache that holds it */
	uint32_t by;    /* enum held_by */
};

struct held_list {
	struct held *held; /* ordered by address */
	size_t count, room;
};

/* inspect_held: find the held objects of the loaded caches. Returns 0, -EFAULT or -ENOMEM. The caller
 * calls inspect_held_free() in any case. */
int inspect_held(const struct inspection *in, struct held_list *list);
void inspect_held_free(struct held_list *list);

/* inspect_held_from: the number of the first one at or behind an address. */
size_t inspect_held_from(const struct held_list *list, uint64_t address);
