/* SPDX-License-Identifier: MIT */
/*
 * The eviction policy of an entry cache: S3-FIFO, with sizes in bytes (policy.c). The callers hold
 * the pool's mutex, except those of policy_init(), policy_free() and policy_use().
 */
#ifndef DIRSRV_ENTRY_POLICY_H
#define DIRSRV_ENTRY_POLICY_H

#include "internal.h"

#include <limits.h>

/* The most lookups that an entry counts. */
#define USES_MAX 3u

/* A circular list: the newest entry is behind `ends`, the oldest before it. */
struct queue {
	struct link ends;
	uint64_t entries;
	size_t bytes;
};

/* Hashes of entries that the small queue evicted recently. A slot has one hash and its time, which
 * is the number of entries that had been evicted before. */
struct ghosts {
	struct ghost {
		uint32_t hash;
		uint32_t when;
	} *slot;
	size_t mask;
	uint32_t left;
};

struct policy {
	struct queue small;
	struct queue main;
	struct ghosts ghosts;
};

/* policy_init: `slots` is the number of slots for ghosts, a power of two. false: no memory. */
bool policy_init(struct policy *policy, size_t slots);
void policy_free(struct policy *policy);

/* policy_insert: add a new entry; true: an entry with this hash was evicted recently. */
bool policy_insert(struct policy *policy, struct dirsrv_entry *entry);

/* policy_exchange: `entry` takes the place of `old`. */
void policy_exchange(struct dirsrv_entry *old, struct dirsrv_entry *entry);

void policy_remove(struct dirsrv_entry *entry);

/* policy_charge: set the bytes that the cache counts for the entry. */
void policy_charge(struct dirsrv_entry *entry, size_t bytes);

/* policy_victim: remove the next victim from its queue, and take away the cache's reference, which
 * was the only one. NULL: there is no victim, or `vain` candidates were in use. VAIN_ALL: any
 * number of candidates may be in use. */
#define VAIN_ALL UINT_MAX
struct dirsrv_entry *policy_victim(struct policy *policy, size_t limit, unsigned vain);

/* policy_use: a reader found the entry. Any thread may call this without the lock. */
static inline void policy_use(struct dirsrv_entry *entry)
{
	uint8_t uses = __atomic_load_n(&entry->uses, __ATOMIC_RELAXED);

	if (uses < USES_MAX)
		__atomic_store_n(&entry->uses, (uint8_t)(uses + 1), __ATOMIC_RELAXED);
}

/* entry_take: take the cache's reference away, unless there are others. */
static inline bool entry_take(struct dirsrv_entry *entry)
{
	uint32_t one = 1;

	return __atomic_compare_exchange_n(&entry->references, &one, 0, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static inline struct dirsrv_entry *entry_of_link(struct link *link)
{
	return caa_container_of(link, struct dirsrv_entry, link);
}

#endif /* DIRSRV_ENTRY_POLICY_H */
