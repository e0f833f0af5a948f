/* SPDX-License-Identifier: MIT */
/* --diff: counters that the program attached, paired by name as caches are. */
#include "diff.h"

#include <stdint.h>
#include <string.h>

static bool is_unlimited(const struct attached *one)
{
	return one && one->kind == SLAB_COUNTER_BYTES && one->value == UINT64_MAX;
}

static struct counter_change make(const struct attached *before, const struct attached *after)
{
	const bool unlimited = is_unlimited(before) != is_unlimited(after);

	return (struct counter_change){
		.name = after ? after->name : before->name,
		.kind = after ? after->kind : before->kind,
		.is_before = before,
		.is_after = after,
		.values = {before ? before->value : 0, after ? after->value : 0},
		.has_growth = !unlimited,
	};
}

size_t change_counters(const struct change *change, struct counter_change list[COUNTER_CHANGES_MAX])
{
	struct attached before[SLAB_COUNTERS_MAX], after[SLAB_COUNTERS_MAX];
	const size_t n_before = change->before ? attached_take(change->before, before) : 0;
	const size_t n_after = change->after ? attached_take(change->after, after) : 0;
	size_t count = 0;

	for (size_t i = 0; i < n_after; i++)
		list[count++] = make(attached_find(before, n_before, after[i].name), &after[i]);
	for (size_t i = 0; i < n_before; i++)
		if (!attached_find(after, n_after, before[i].name))
			list[count++] = make(&before[i], NULL);
	return count;
}

bool counter_is_same(const struct change *change, const struct counter_change *counter)
{
	/* With a cache that comes or goes its counters do. */
	const bool came =
		change->before && change->after && counter->is_before != counter->is_after;

	return !came && counter->values.before == counter->values.after;
}

bool change_has_same_counters(const struct change *change)
{
	struct counter_change list[COUNTER_CHANGES_MAX];
	const size_t count = change_counters(change, list);

	for (size_t i = 0; i < count; i++)
		if (!counter_is_same(change, &list[i]))
			return false;
	return true;
}
