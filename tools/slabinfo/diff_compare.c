/* SPDX-License-Identifier: MIT */
/* --diff: what changed of one cache, and whether both files are of one process. */
#include "diff.h"
#include "views.h"

/* Uptimes are whole seconds. */
#define START_EXACT_MS UINT64_C(2000)

int64_t growth_of(const struct growth *growth)
{
	uint64_t more = growth->after - growth->before, less = growth->before - growth->after;

	if (growth->after >= growth->before)
		return more > INT64_MAX ? INT64_MAX : (int64_t)more;
	return less > INT64_MAX ? -INT64_MAX : -(int64_t)less;
}

struct growth change_objects(const struct change *change)
{
	return (struct growth){change->before ? change->before->objects : 0,
			       change->after ? change->after->objects : 0};
}

struct growth change_bytes(const struct change *change)
{
	return (struct growth){change->before ? change->before->slab_bytes : 0,
			       change->after ? change->after->slab_bytes : 0};
}

bool change_is_same(const struct change *change)
{
	struct growth objects = change_objects(change), bytes = change_bytes(change);

	return change->before && change->after && objects.before == objects.after &&
	       bytes.before == bytes.after;
}

const char *change_name(const struct change *change)
{
	if (!change->before)
		return "new";
	if (!change->after)
		return "gone";
	return change_is_same(change) ? "same" : "changed";
}

/* When the process started, on the clock of its machine. */
static uint64_t start_ms(const struct snapshot *snapshot)
{
	return snapshot->now - snapshot->uptime * 1000;
}

bool diff_is_one_process(const struct diff *diff)
{
	const struct snapshot *before = &diff->before, *after = &diff->after;

	if (before->pid != after->pid || strcmp(before->command, after->command) != 0)
		return false;
	/* Numbers are given to other processes some day. */
	return !before->now || !after->now ||
	       start_ms(after) - start_ms(before) + START_EXACT_MS < 2 * START_EXACT_MS;
}
