/* SPDX-License-Identifier: MIT */
/* Sets of entry ids, in order. A set that is all zero is empty; memory is of slab_malloc(). */
#ifndef LDAPD_STORE_IDS_H
#define LDAPD_STORE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ids {
	uint64_t *id;
	size_t count;
	size_t capacity;
	bool failed; /* no memory: the set is not complete */
};

/* ids_reserve: room for `more` ids behind the last, or NULL. */
uint64_t *ids_reserve(struct ids *ids, size_t more);
void ids_append(struct ids *ids, uint64_t id);

/* ids_sort: put them in order, each once. */
void ids_sort(struct ids *ids);

/* ids_intersect: keep those that are in `other`, too. ids_unite: add those of `other`. Both sets
 * are in order. */
void ids_intersect(struct ids *ids, const struct ids *other);
void ids_unite(struct ids *ids, const struct ids *other);

/* ids_after: the position of the first id that is greater. */
size_t ids_after(const struct ids *ids, uint64_t id);

void ids_free(struct ids *ids);

#endif /* LDAPD_STORE_IDS_H */
