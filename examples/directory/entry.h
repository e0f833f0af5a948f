/* SPDX-License-Identifier: MIT */
/*
 * Making, copying, changing and dropping entries and their parts. X_drop() gives
 * back an object with all that belongs to it; memory_free_X() only itself.
 * Nothing here locks: whoever shares an entry holds its lock (tree.h).
 */
#ifndef DIRECTORY_ENTRY_H
#define DIRECTORY_ENTRY_H

#include "memory.h"
#include "record.h"
#include "result.h"

#include <stdbool.h>

/* The attribute that every entry has and that modifies replace. */
#define NOTE_TYPE "note"

uint64_t bytes_hash(const char *bytes, size_t length);

struct dn *dn_make(const char *text, size_t length);
struct dn *dn_copy(const struct dn *dn);
void dn_drop(struct dn *dn);

/* The value of a DN's first RDN as a name: lower case, with its hash. */
struct value *dn_name(const struct dn *dn);

static inline const char *value_data(const struct value *value)
{
	return value->length > VALUE_INLINE ? value->at.data : value->at.small;
}

struct value *value_make(const char *data, size_t length);
void value_hash(struct value *value);
bool value_equal(const struct value *a, const struct value *b);
void value_drop(struct value *value);
/* value_drop_all: a chain of them. */
void value_drop_all(struct value *value);

struct attribute *attribute_make(const char *type, size_t length);
void attribute_append(struct attribute *attribute, struct value *value);
void attribute_drop(struct attribute *attribute);

/*
 * entry_from_record: an entry of a record. With a DN the entry gets this one
 * instead of the record's, and its naming attribute the value to go with it.
 */
struct entry *entry_from_record(const struct record *record, const char *dn, size_t dn_length);
struct entry *entry_copy(const struct entry *entry);
void entry_drop(struct entry *entry);
/* entry_drop_all: a chain over next_dn. */
void entry_drop_all(struct entry *entry);

/* entry_append: the entry takes the attribute over. */
void entry_append(struct entry *entry, struct attribute *attribute);

/*
 * entry_replace: exchange the values of the entry's attribute of that type
 * with those of `change`, which holds the old ones afterwards. False when the
 * entry has no such attribute.
 */
bool entry_replace(struct entry *entry, struct attribute *change, uint64_t id);

/* entry_measure: add the entry to `size`; false when the entry is damaged. */
bool entry_measure(const struct entry *entry, struct directory_size *size);

#endif /* DIRECTORY_ENTRY_H */
