/* SPDX-License-Identifier: MIT */
/*
 * The directory: two hash tables over the same entries, by normalized DN and by
 * name.
 *
 * Locks, in the order in which they are taken: the bucket group of the name,
 * the bucket group of the DN, the entry.
 *   - an entry is added and removed under both of its groups' write locks;
 *   - it is found under either group's read lock, which keeps it there;
 *   - its attributes are read under the entry's read lock and changed under
 *     its write lock, in both cases with a group's read lock held.
 */
#ifndef DIRECTORY_TREE_H
#define DIRECTORY_TREE_H

#include "entry.h"

struct tree;

/* tree_make: a tree with room for about `entries`; NULL without memory. */
struct tree *tree_make(size_t entries);

/* tree_free: free it and all its entries; nobody else uses it any more. */
void tree_free(struct tree *tree);

/* tree_add: the tree takes the entry over. False when its DN exists. */
bool tree_add(struct tree *tree, struct entry *entry);

/* tree_remove: take the entry out of the tree; NULL when there is none. */
struct entry *tree_remove(struct tree *tree, const struct dn *dn, const struct value *name);

/* tree_by_name: copies of all entries of that name, put before *results. */
uint32_t tree_by_name(struct tree *tree, const struct value *name, struct entry **results);

/* tree_by_dn: the same of the entry with that DN. */
uint32_t tree_by_dn(struct tree *tree, const struct dn *dn, struct entry **results);

/* tree_replace: entry_replace() on the entry with that DN; false: no such. */
bool tree_replace(struct tree *tree, const struct dn *dn, struct attribute *change, uint64_t id);

/* tree_measure: read every byte of every entry; false when one is damaged. */
bool tree_measure(const struct tree *tree, struct directory_size *size);

#endif /* DIRECTORY_TREE_H */
