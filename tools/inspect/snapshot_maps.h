/* SPDX-License-Identifier: MIT */
/* What of a process's memory a copy has to have, from /proc/PID/maps. */
#pragma once

#include "posix.h"

struct snapshot_range {
	uint64_t start, end;
	bool has_file; /* its pages may come from a file */
	bool is_stack; /* it grows downwards from its end: [stack], or a guard page lies below */
};

struct snapshot_maps {
	struct snapshot_range *range; /* ordered by address */
	size_t count, room;
	uint64_t guard_end; /* of the last inaccessible mapping, while maps are read */
};

/* snapshot_maps_read: read the ranges anew. Returns 0 or -errno. */
int snapshot_maps_read(struct snapshot_maps *maps, pid_t pid);
void snapshot_maps_free(struct snapshot_maps *maps);

/* snapshot_maps_find: the range that contains an address, or NULL. */
const struct snapshot_range *snapshot_maps_find(const struct snapshot_maps *maps, uint64_t address);
