/* SPDX-License-Identifier: MIT */
/* Tables of names: events, SLAB_* flags, and the characters of debug flags. */
#include "base/names.h"

#include <ctype.h>
#include <slab/slab.h>
#include <slab/stats.h>

static const char *const event_names[SLAB_EVENT_COUNT] = {
	[SLAB_EVENT_ALLOC_SLOWPATH] = "alloc_slowpath",
	[SLAB_EVENT_ALLOC_REFILL] = "alloc_refill",
	[SLAB_EVENT_ALLOC_MAGAZINE] = "alloc_magazine",
	[SLAB_EVENT_ALLOC_OTHER_SHARD] = "alloc_other_shard",
	[SLAB_EVENT_ALLOC_SLAB] = "alloc_slab",
	[SLAB_EVENT_ALLOC_NODE_MISMATCH] = "alloc_node_mismatch",
	[SLAB_EVENT_FREE_SLOWPATH] = "free_slowpath",
	[SLAB_EVENT_FREE_FLUSH] = "free_flush",
	[SLAB_EVENT_FREE_MAGAZINE] = "free_magazine",
	[SLAB_EVENT_FREE_OTHER_NODE] = "free_other_node",
	[SLAB_EVENT_FREE_SLAB] = "free_slab",
	[SLAB_EVENT_ARRAYS_CLOSED] = "arrays_closed",
};

const char *slab_event_name(unsigned event)
{
	return event < SLAB_EVENT_COUNT ? event_names[event] : NULL;
}

static const struct {
	uint64_t flag;
	const char *name;
} flag_names[] = {
	{SLAB_CONSISTENCY_CHECKS, "SLAB_CONSISTENCY_CHECKS"},
	{SLAB_RED_ZONE, "SLAB_RED_ZONE"},
	{SLAB_POISON, "SLAB_POISON"},
	{SLAB_STORE_USER, "SLAB_STORE_USER"},
	{SLAB_TRACE, "SLAB_TRACE"},
	{SLAB_FAILSLAB, "SLAB_FAILSLAB"},
	{SLAB_HWCACHE_ALIGN, "SLAB_HWCACHE_ALIGN"},
	{SLAB_TYPESAFE_BY_RCU, "SLAB_TYPESAFE_BY_RCU"},
	{SLAB_PANIC, "SLAB_PANIC"},
	{SLAB_ZERO, "SLAB_ZERO"},
	{SLAB_RECLAIM_ACCOUNT, "SLAB_RECLAIM_ACCOUNT"},
	{SLAB_HARDEN_FREE, "SLAB_HARDEN_FREE"},
	{SLAB_APART, "SLAB_APART"},
};

const char *flag_name(unsigned i, uint64_t *ret_flag)
{
	if (i >= sizeof(flag_names) / sizeof(flag_names[0]))
		return NULL;
	*ret_flag = flag_names[i].flag;
	return flag_names[i].name;
}

static const struct {
	char character; /* lower case */
	uint64_t flag;
} flag_characters[] = {
	{'f', SLAB_CONSISTENCY_CHECKS}, {'z', SLAB_RED_ZONE}, {'p', SLAB_POISON},
	{'u', SLAB_STORE_USER},         {'t', SLAB_TRACE},    {'a', SLAB_FAILSLAB},
};

#define DEBUG_FLAGS (sizeof(flag_characters) / sizeof(flag_characters[0]))

_Static_assert(DEBUG_FLAGS < DEBUG_FLAGS_TEXT, "all of them fit a text");

char debug_flag_character(unsigned i, uint64_t *ret_flag)
{
	if (i >= DEBUG_FLAGS)
		return 0;
	*ret_flag = flag_characters[i].flag;
	return flag_characters[i].character;
}

void debug_flags_format(uint64_t debug_flags, char text[DEBUG_FLAGS_TEXT])
{
	size_t n = 0;

	for (size_t i = 0; i < DEBUG_FLAGS; i++)
		if (debug_flags & flag_characters[i].flag)
			text[n++] = (char)toupper(flag_characters[i].character);
	if (!n)
		text[n++] = '-';
	text[n] = '\0';
}
