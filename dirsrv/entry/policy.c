/* SPDX-License-Identifier: MIT */
/*
 * S3-FIFO: an eviction policy with three queues, none of which a hit changes.
 *
 *   small   has new entries. At its end, an entry that was used more than once moves to main;
 *           other entries are evicted
 *   main    At its end, an entry with uses returns to the head with one use less; other entries
 *           are evicted
 *   ghosts  has hashes of entries that small evicted. An entry that is added again in time goes to
 *           main
 *
 * Victims come from small while it has a tenth of the limit or more. Time is counted in entries
 * that small evicted: a ghost expires when small has evicted as many entries since as the cache
 * has. Ghosts are in a hash table with one ghost per slot; a later ghost overwrites an earlier
 * one.
 *
 * CLOCK needs half of this code, but of lookups by Zipf's law fewer hit (./run bench eviction).
 */
#include "entry_cache_internal.h"

#include <slab/malloc.h>

#define SMALL_PART 10

/* --- ghosts --------------------------------------------------------------------------- */

static struct ghost *ghost_at(struct ghosts *ghosts, uint64_t hash)
{
	return &ghosts->slot[hash & ghosts->mask];
}

/* Distinguishes hashes that share a slot; 0: the slot is empty. */
static uint32_t print_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32) | 1;
}

static void ghost_add(struct ghosts *ghosts, uint64_t hash)
{
	struct ghost *ghost = ghost_at(ghosts, hash);

	ghost->hash = print_of(hash);
	ghost->when = ghosts->left++;
}

static bool ghost_take(struct ghosts *ghosts, uint64_t hash, uint64_t entries)
{
	struct ghost *ghost = ghost_at(ghosts, hash);

	if (ghost->hash != print_of(hash))
		return false;
	ghost->hash = 0;
	return ghosts->left - ghost->when <= entries;
}

/* --- queues ----------------------------------------------------------------------------- */

static void queue_init(struct queue *queue)
{
	queue->ends.next = queue->ends.prev = &queue->ends;
	queue->entries = 0;
	queue->bytes = 0;
}

static void queue_add(struct queue *queue, struct dirsrv_entry *entry)
{
	struct link *link = &entry->link;

	link->prev = &queue->ends;
	link->next = queue->ends.next;
	link->next->prev = link->prev->next = link;
	entry->queue = queue;
	queue->entries++;
	queue->bytes += entry->charged;
}

void policy_remove(struct dirsrv_entry *entry)
{
	entry->link.prev->next = entry->link.next;
	entry->link.next->prev = entry->link.prev;
	entry->queue->entries--;
	entry->queue->bytes -= entry->charged;
}

static void move_to(struct queue *queue, struct dirsrv_entry *entry, uint8_t uses)
{
	policy_remove(entry);
	queue_add(queue, entry);
	__atomic_store_n(&entry->uses, uses, __ATOMIC_RELAXED);
}

void policy_exchange(struct dirsrv_entry *old, struct dirsrv_entry *entry)
{
	entry->queue = old->queue;
	entry->link = old->link;
	entry->link.prev->next = entry->link.next->prev = &entry->link;
	__atomic_store_n(&entry->uses, __atomic_load_n(&old->uses, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
}

void policy_charge(struct dirsrv_entry *entry, size_t bytes)
{
	entry->queue->bytes += bytes - entry->charged;
	entry->charged = bytes;
}

/* --- the policy --------------------------------------------------------------------------- */

bool policy_init(struct policy *policy, size_t slots)
{
	queue_init(&policy->small);
	queue_init(&policy->main);
	policy->ghosts.slot = slab_calloc(slots, sizeof(*policy->ghosts.slot));
	policy->ghosts.mask = slots - 1;
	policy->ghosts.left = 0;
	return policy->ghosts.slot != NULL;
}

void policy_free(struct policy *policy)
{
	slab_mfree(policy->ghosts.slot);
}

bool policy_insert(struct policy *policy, struct dirsrv_entry *entry)
{
	uint64_t entries = policy->small.entries + policy->main.entries;
	bool returns = ghost_take(&policy->ghosts, entry->dn->hash, entries);

	queue_add(returns ? &policy->main : &policy->small, entry);
	return returns;
}

/* The visits left in a search for a victim. A visit of an entry with uses is not in vain: it takes
 * one use away, and a lookup has added that use. */
struct tries {
	uint64_t all;
	unsigned vain;     /* number of entries in use that may still be visited */
	unsigned for_main; /* when `vain` has fallen to this, only small is searched */
};

/* Visit an entry at the end of small. true: it is the victim; false: it moved to main. */
static bool leave_small(struct policy *policy, struct dirsrv_entry *entry, struct tries *tries)
{
	bool used = __atomic_load_n(&entry->uses, __ATOMIC_RELAXED) > 1;

	if (used || !entry_take(entry)) {
		move_to(&policy->main, entry, 0);
		tries->vain -= !used;
		return false;
	}
	ghost_add(&policy->ghosts, entry->dn->hash);
	return true;
}

/* Visit an entry at the end of main. true: it is the victim; false: it moved to the head. */
static bool leave_main(struct policy *policy, struct dirsrv_entry *entry, struct tries *tries)
{
	uint8_t uses = __atomic_load_n(&entry->uses, __ATOMIC_RELAXED);

	if (!uses && entry_take(entry))
		return true;
	move_to(&policy->main, entry, uses ? uses - 1 : 0);
	tries->vain -= !uses;
	return false;
}

/* Does the search visit small next? Yes while small has its share of the bytes or more, and in the
 * last visits if main had no victim. */
static bool evicts_from_small(const struct policy *policy, size_t limit, const struct tries *tries)
{
	const struct queue *small = &policy->small, *main = &policy->main;
	size_t all = small->bytes + main->bytes;

	if (!small->entries)
		return false;
	return !main->entries || tries->all <= small->entries || tries->vain <= tries->for_main ||
	       small->bytes >= (all < limit ? all : limit) / SMALL_PART;
}

struct dirsrv_entry *policy_victim(struct policy *policy, size_t limit, unsigned vain)
{
	struct queue *small = &policy->small, *main = &policy->main;
	struct tries tries = {
		.all = main->entries * (USES_MAX + 1) + small->entries * (USES_MAX + 2),
		.vain = vain,
		.for_main = vain / 2,
	};

	for (; tries.all && tries.vain; tries.all--) {
		bool from_small = evicts_from_small(policy, limit, &tries);
		struct queue *queue = from_small ? small : main;
		struct dirsrv_entry *entry = entry_of_link(queue->ends.prev);

		if (from_small ? leave_small(policy, entry, &tries)
			       : leave_main(policy, entry, &tries)) {
			policy_remove(entry);
			return entry;
		}
	}
	return NULL;
}
