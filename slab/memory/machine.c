/* SPDX-License-Identifier: MIT */
#include "memory/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/options.h"
#include "memory/group.h"
#include "memory/turn.h"
#include "pages/account.h"
#include "pages/os.h"

#define PAUSE_US UINT64_C(1000000)

static bool forgotten; /* atomic: the program has set a limit */

/* Of the thread whose turn it is. */
static void *mapped; /* the room, which few processes need */
static struct group_room *room;
static uint64_t looked; /* µs; 0: not yet */

/* A file's limit; UINT64_MAX: it has none ("max"), or there is no such file. */
static uint64_t limit_in(const char *directory, const char *name)
{
	char *end;
	uint64_t bytes;

	if (snprintf(room->group, sizeof(room->group), "%s/%s", directory, name) >=
		    (int)sizeof(room->group) ||
	    !group_read_path(room, room->group))
		return UINT64_MAX;
	bytes = strtoull(room->text, &end, 10);
	return end == room->text ? UINT64_MAX : bytes;
}

/* The least limit of the group in room->path and of those above it, which end with `root`. */
static uint64_t least_limit(const char *name)
{
	uint64_t least = UINT64_MAX;

	while (*room->path) {
		const uint64_t limit = limit_in(room->path, name);

		least = limit < least ? limit : least;
		*strrchr(room->path, '/') = '\0';
	}
	return least;
}

static uint64_t installed(void)
{
	struct sysinfo info;

	return sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit : UINT64_MAX;
}

static uint64_t read_machine(void)
{
	uint64_t least = installed(), limit;

	room = os_map_once(&mapped, sizeof(*room));
	if (!room)
		return least;
	if (group_find(room, room->path, sizeof(room->path)) && *room->path == '/') {
		limit = least_limit("memory.max");
		least = limit < least ? limit : least;
	}
	if (group_find_v1(room, room->path, sizeof(room->path)) && *room->path == '/') {
		limit = least_limit("memory.limit_in_bytes");
		least = limit < least ? limit : least;
	}
	return least;
}

static uint64_t part_of(uint64_t bytes, unsigned percent)
{
	const uint64_t part = bytes / 100 * percent;

	return part < LIMIT_LEAST_OF_PROCESS ? LIMIT_LEAST_OF_PROCESS : part;
}

/* It may be lower than before, so let the next allocation look at it. */
static void set_soft_limit(uint64_t bytes)
{
	if (!slab_options()->soft_percent || bytes == slab_pages.soft_limit)
		return;
	__atomic_store_n(&slab_pages.soft_limit, bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&slab_pages.soft_from, 0, __ATOMIC_RELAXED);
}

static bool set_limits(uint64_t bytes)
{
	const struct slab_options *options = slab_options();
	const uint64_t before = __atomic_load_n(&slab_pages.account.limit, __ATOMIC_RELAXED),
		       limit = part_of(bytes, options->limit_percent);

	set_soft_limit(part_of(bytes, options->soft_percent));
	if (!options->limit_percent || __atomic_load_n(&forgotten, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&slab_pages.account.limit, limit, __ATOMIC_RELAXED);
	return before && limit > before;
}

bool machine_look(void)
{
	const struct slab_options *options = slab_options();
	bool risen = false;
	uint64_t now;

	if (SLAB_LIKELY(!options->limit_percent && !options->soft_percent) ||
	    !turn_take(TURN_MACHINE))
		return false;
	now = clock_us();
	if (!looked || now - looked >= PAUSE_US) {
		looked = now;
		risen = set_limits(read_machine());
	}
	turn_end(TURN_MACHINE);
	return risen;
}

void machine_forget_limit(void)
{
	__atomic_store_n(&forgotten, true, __ATOMIC_RELAXED);
}

uint64_t machine_bytes(void)
{
	uint64_t bytes;

	while (!turn_take(TURN_MACHINE))
		;
	bytes = read_machine();
	looked = 0;
	turn_end(TURN_MACHINE);
	return bytes;
}
