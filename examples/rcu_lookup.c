/* SPDX-License-Identifier: MIT */
/*
 * Lookups without locks, in liburcu's hash table, of entries that others delete.
 *
 * Entries stand in a type-safe cache: a deleted one is freed at once, and may be
 * another entry a moment later. A reader therefore takes a reference, which a free
 * entry does not give, and then looks whether the entry is still the one it wanted.
 * The nodes of the table must not change while anybody walks over them: they are
 * freed with slab_free_rcu(), after a grace period.
 *
 *   build/bin/rcu_lookup [SECONDS]
 */
#include <slab/rcu.h>
#include <slab/slab.h>
#include <slab/stats.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <urcu/urcu-memb.h>

#include <urcu/rculfhash.h>

#define KEYS 1024
#define READERS 2

struct entry {
	atomic_uint refs; /* 0: free, or about to be */
	atomic_uint key;
	char rest[232];
};

struct node {
	struct cds_lfht_node in_table;
	unsigned key;
	struct entry *entry; /* may be another key's by now */
};

static struct slab_cache *entries, *nodes;
static struct cds_lfht *table;
static atomic_bool stop;

struct tally {
	pthread_t thread;
	uint64_t lookups, hits, reused;
};

/* --- entries: references ------------------------------------------------------------ */

/* Once for each object: a free entry has no references, so no reader can take one. */
static int entry_construct(void *object, void *arg)
{
	struct entry *entry = object;

	(void)arg;
	atomic_init(&entry->refs, 0);
	atomic_init(&entry->key, 0);
	return 0;
}

static bool entry_get_unless_zero(struct entry *entry)
{
	unsigned refs = atomic_load(&entry->refs);

	while (refs)
		if (atomic_compare_exchange_weak(&entry->refs, &refs, refs + 1))
			return true;
	return false;
}

static void entry_put(struct entry *entry)
{
	if (atomic_fetch_sub(&entry->refs, 1) == 1)
		slab_free(entries, entry);
}

/* --- the table ---------------------------------------------------------------------------- */

static unsigned long hash(unsigned key)
{
	return key * 2654435761UL;
}

static int matches(struct cds_lfht_node *in_table, const void *key)
{
	return caa_container_of(in_table, struct node, in_table)->key == *(const unsigned *)key;
}

static struct node *find_node(unsigned key)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *found;

	cds_lfht_lookup(table, hash(key), matches, &key, &iter);
	found = cds_lfht_iter_get_node(&iter);
	return found ? caa_container_of(found, struct node, in_table) : NULL;
}

/* The entry, with a reference for the caller; NULL when there is none. */
static struct entry *lookup(unsigned key, struct tally *tally)
{
	struct entry *entry = NULL;

	urcu_memb_read_lock();
	for (struct node *node = find_node(key); node; node = find_node(key)) {
		entry = node->entry;
		if (!entry_get_unless_zero(entry)) {
			entry = NULL; /* deleted: it has left the table, or will in a moment */
			break;
		}
		if (atomic_load(&entry->key) == key)
			break;
		entry_put(entry); /* deleted, and reused for another key since */
		entry = NULL;
		tally->reused++;
	}
	urcu_memb_read_unlock();
	return entry;
}

/* false: no memory, or the key is there already. */
static bool add(unsigned key)
{
	struct node *node = slab_alloc(nodes);
	struct entry *entry = slab_alloc(entries);
	bool added = false;

	if (node && entry) {
		node->key = key;
		node->entry = entry;
		atomic_store(&entry->key, key);
		atomic_store(&entry->refs, 1); /* the table's */
		urcu_memb_read_lock();
		added = cds_lfht_add_unique(table, hash(key), matches, &key, &node->in_table) ==
			&node->in_table;
		urcu_memb_read_unlock();
	}
	if (added)
		return true;
	if (entry)
		atomic_store(&entry->refs, 0); /* freed as it was constructed */
	slab_free(entries, entry);
	slab_free(nodes, node);
	return false;
}

static void forget(unsigned key)
{
	struct node *node;

	urcu_memb_read_lock();
	node = find_node(key);
	if (node && cds_lfht_del(table, &node->in_table) == 0) {
		entry_put(node->entry);
		slab_free_rcu(nodes, node);
	}
	urcu_memb_read_unlock();
}

/* --- threads ---------------------------------------------------------------------------------- */

static void *read_entries(void *arg)
{
	struct tally *tally = arg;
	unsigned key = 0;

	urcu_memb_register_thread();
	while (!atomic_load(&stop)) {
		struct entry *entry = lookup(key = (key * 5 + 1) % KEYS, tally);

		tally->lookups++;
		if (entry) {
			tally->hits++;
			entry_put(entry);
		}
	}
	urcu_memb_unregister_thread();
	return NULL;
}

static uint64_t write_entries(double seconds)
{
	struct timespec now;
	uint64_t changes = 0;
	double end;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + seconds;
	do {
		for (unsigned i = 0; i < 1000; i++, changes++) {
			forget((unsigned)(changes * 7 % KEYS));
			add((unsigned)(changes * 7 % KEYS));
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < end);
	return changes;
}

static void report(const struct tally *tally, uint64_t changes)
{
	struct slab_stats stats = {.struct_size = sizeof(stats)};
	uint64_t lookups = 0, hits = 0, reused = 0;

	for (unsigned i = 0; i < READERS; i++) {
		lookups += tally[i].lookups;
		hits += tally[i].hits;
		reused += tally[i].reused;
	}
	printf("%" PRIu64 " lookups, %" PRIu64 " found; %" PRIu64
	       " found an entry that had become another one and retried\n",
	       lookups, hits, reused);
	slab_cache_stats(nodes, &stats);
	printf("%" PRIu64 " entries replaced; %" PRIu64 " nodes waited for a grace period, %" PRIu64
	       " wait now, in %" PRIu64 " slabs\n",
	       changes, stats.rcu_freed, stats.rcu_pending, stats.slabs);
}

int main(int argc, char **argv)
{
	const struct slab_cache_args plain = {.rcu = &urcu_memb_flavor};
	const struct slab_cache_args typed = {.rcu = &urcu_memb_flavor, .ctor = entry_construct};
	static struct tally tally[READERS];
	uint64_t changes;

	entries = slab_cache_create("entry", sizeof(struct entry), &typed,
				    SLAB_TYPESAFE_BY_RCU | SLAB_PANIC);
	nodes = slab_cache_create("node", sizeof(struct node), &plain, SLAB_PANIC);
	urcu_memb_register_thread();
	table = cds_lfht_new_flavor(KEYS, KEYS, 0, 0, &urcu_memb_flavor, NULL);
	for (unsigned i = 0; i < READERS; i++)
		pthread_create(&tally[i].thread, NULL, read_entries, &tally[i]);
	changes = write_entries(argc > 1 ? strtod(argv[1], NULL) : 1);
	atomic_store(&stop, true);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(tally[i].thread, NULL);
	report(tally, changes);
	for (unsigned key = 0; key < KEYS; key++)
		forget(key);
	cds_lfht_destroy(table, NULL);
	if (slab_cache_destroy(nodes) || slab_cache_destroy(entries))
		return 1;
	urcu_memb_unregister_thread();
	return 0;
}
