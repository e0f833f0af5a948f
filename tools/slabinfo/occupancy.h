/* SPDX-License-Identifier: MIT */
/* The slabs of caches, from the answer to "slabs". */
#pragma once

#include "attach.h"
#include "model.h"

enum slab_state {
	STATE_PARTIAL,
	STATE_FULL,
	STATE_EMPTY,
	STATE_DEBUG,
	STATE_LEGACY,
	STATE_GUARDED,
	STATES
};

/* The state's name in the protocol. */
const char *state_name(enum slab_state state);

/* One slab, or several neighbours of one group after occupancy_merge(). */
struct slab_info {
	uint64_t address; /* of the first */
	uint64_t used, room;
	enum slab_state state;
	int node;
	unsigned slabs;
	char debug_flags[8]; /* empty: none */
};

struct occupancy {
	struct slab_info *slabs;
	size_t count, room;
	uint64_t total; /* of the cache; more than `count` if the process did not send all */
};

/*
 * occupancy_take: query the slabs of a cache, sorted by group, which is by state and node;
 * by address in a group. occupancy_take_all: those of all caches of the model, in one query.
 * False after an error message by fail(); otherwise the caller frees each occupancy.
 */
bool occupancy_take(struct occupancy *occupancy, struct process *process, const char *name);
bool occupancy_take_all(struct occupancy *of, struct process *process, const struct model *model);
void occupancy_free(struct occupancy *occupancy);

/* occupancy_group: the number of slabs of one group, from number `first` on. */
size_t occupancy_group(const struct occupancy *occupancy, size_t first);

/* occupancy_merge: join `neighbours` slabs of a group to one. */
void occupancy_merge(struct occupancy *occupancy, unsigned neighbours);
