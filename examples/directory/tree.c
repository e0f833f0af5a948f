/* SPDX-License-Identifier: MIT */
/*
 * Buckets are in groups, each with one lock on its own cache line: few enough
 * to fit in a cache, many enough that threads rarely meet.
 */
#include "tree.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS 256

struct group {
	_Alignas(64) pthread_rwlock_t lock;
};

struct table {
	struct entry **bucket;
	struct group group[GROUPS];
};

struct tree {
	size_t mask; /* buckets of each table - 1 */
	struct table dn;
	struct table name;
};

static pthread_rwlock_t *lock_of(struct table *table, uint64_t hash)
{
	return &table->group[hash % GROUPS].lock;
}

struct tree *tree_make(size_t entries)
{
	struct tree *tree = aligned_alloc(_Alignof(struct tree), sizeof(*tree));
	size_t buckets = GROUPS;

	if (!tree)
		return NULL;
	while (buckets < entries * 2)
		buckets *= 2;
	tree->mask = buckets - 1;
	tree->dn.bucket = calloc(buckets, sizeof(*tree->dn.bucket));
	tree->name.bucket = calloc(buckets, sizeof(*tree->name.bucket));
	if (!tree->dn.bucket || !tree->name.bucket) {
		free(tree->dn.bucket);
		free(tree->name.bucket);
		free(tree);
		return NULL;
	}
	for (size_t i = 0; i < GROUPS; i++) {
		pthread_rwlock_init(&tree->dn.group[i].lock, NULL);
		pthread_rwlock_init(&tree->name.group[i].lock, NULL);
	}
	return tree;
}

void tree_free(struct tree *tree)
{
	for (size_t i = 0; i <= tree->mask; i++)
		entry_drop_all(tree->dn.bucket[i]);
	for (size_t i = 0; i < GROUPS; i++) {
		pthread_rwlock_destroy(&tree->dn.group[i].lock);
		pthread_rwlock_destroy(&tree->name.group[i].lock);
	}
	free(tree->dn.bucket);
	free(tree->name.bucket);
	free(tree);
}

static bool dn_equal(const struct dn *a, const struct dn *b)
{
	return a->hash == b->hash && a->normalized_length == b->normalized_length &&
	       memcmp(a->normalized, b->normalized, a->normalized_length) == 0;
}

/* Where the entry with that DN hangs, or the NULL at the end of its bucket. */
static struct entry **find_dn(struct tree *tree, const struct dn *dn)
{
	struct entry **link = &tree->dn.bucket[dn->hash & tree->mask];

	while (*link && !dn_equal((*link)->dn, dn))
		link = &(*link)->next_dn;
	return link;
}

static void write_lock(struct tree *tree, const struct dn *dn, const struct value *name)
{
	pthread_rwlock_wrlock(lock_of(&tree->name, name->hash));
	pthread_rwlock_wrlock(lock_of(&tree->dn, dn->hash));
}

static void write_unlock(struct tree *tree, const struct dn *dn, const struct value *name)
{
	pthread_rwlock_unlock(lock_of(&tree->dn, dn->hash));
	pthread_rwlock_unlock(lock_of(&tree->name, name->hash));
}

bool tree_add(struct tree *tree, struct entry *entry)
{
	uint32_t hash = entry->name->hash;
	struct entry **names = &tree->name.bucket[hash & tree->mask];
	struct entry **link;
	bool added;

	write_lock(tree, entry->dn, entry->name);
	link = find_dn(tree, entry->dn);
	added = !*link;
	if (added) {
		*link = entry;
		entry->next_name = *names;
		*names = entry;
	}
	write_unlock(tree, entry->dn, entry->name);
	return added;
}

struct entry *tree_remove(struct tree *tree, const struct dn *dn, const struct value *name)
{
	struct entry **link, **names = &tree->name.bucket[name->hash & tree->mask];
	struct entry *entry;

	write_lock(tree, dn, name);
	link = find_dn(tree, dn);
	entry = *link;
	if (entry) {
		*link = entry->next_dn;
		while (*names != entry)
			names = &(*names)->next_name;
		*names = entry->next_name;
		entry->next_dn = NULL;
	}
	write_unlock(tree, dn, name);
	return entry;
}

/* Copy an entry for sending. The caller holds a group's lock. */
static void send_copy(struct entry *entry, struct entry **results)
{
	struct entry *copy;

	pthread_rwlock_rdlock(&entry->lock);
	copy = entry_copy(entry);
	pthread_rwlock_unlock(&entry->lock);
	copy->next_dn = *results;
	*results = copy;
}

uint32_t tree_by_name(struct tree *tree, const struct value *name, struct entry **results)
{
	pthread_rwlock_t *lock = lock_of(&tree->name, name->hash);
	uint32_t found = 0;

	pthread_rwlock_rdlock(lock);
	for (struct entry *entry = tree->name.bucket[name->hash & tree->mask]; entry;
	     entry = entry->next_name) {
		if (!value_equal(entry->name, name))
			continue;
		send_copy(entry, results);
		found++;
	}
	pthread_rwlock_unlock(lock);
	return found;
}

uint32_t tree_by_dn(struct tree *tree, const struct dn *dn, struct entry **results)
{
	pthread_rwlock_t *lock = lock_of(&tree->dn, dn->hash);
	struct entry *entry;

	pthread_rwlock_rdlock(lock);
	entry = *find_dn(tree, dn);
	if (entry)
		send_copy(entry, results);
	pthread_rwlock_unlock(lock);
	return entry ? 1 : 0;
}

bool tree_replace(struct tree *tree, const struct dn *dn, struct attribute *change, uint64_t id)
{
	pthread_rwlock_t *lock = lock_of(&tree->dn, dn->hash);
	struct entry *entry;
	bool replaced = false;

	pthread_rwlock_rdlock(lock);
	entry = *find_dn(tree, dn);
	if (entry) {
		pthread_rwlock_wrlock(&entry->lock);
		replaced = entry_replace(entry, change, id);
		pthread_rwlock_unlock(&entry->lock);
	}
	pthread_rwlock_unlock(lock);
	return replaced;
}

bool tree_measure(const struct tree *tree, struct directory_size *size)
{
	bool sound = true;

	memset(size, 0, sizeof(*size));
	for (size_t i = 0; i <= tree->mask; i++)
		for (const struct entry *entry = tree->dn.bucket[i]; entry; entry = entry->next_dn)
			sound = entry_measure(entry, size) && sound;
	return sound;
}
