/* SPDX-License-Identifier: MIT */
/*
 * One entry as a source has it: a DN and pairs of attribute type and value, all
 * in one buffer that is used again for the next record.
 */
#ifndef DIRECTORY_RECORD_H
#define DIRECTORY_RECORD_H

#include <stddef.h>

/* Offsets into the record's text, which moves when it grows. */
struct pair {
	size_t type;
	size_t type_length;
	size_t value;
	size_t value_length;
};

struct record {
	size_t line; /* where the record starts in its source */
	size_t dn;
	size_t dn_length;
	char *text;
	size_t length;
	size_t capacity;
	struct pair *pairs;
	size_t count;
	size_t pairs_capacity;
};

static inline const char *record_dn(const struct record *record)
{
	return record->text + record->dn;
}

static inline const char *record_type(const struct record *record, size_t pair)
{
	return record->text + record->pairs[pair].type;
}

static inline const char *record_value(const struct record *record, size_t pair)
{
	return record->text + record->pairs[pair].value;
}

/* record_clear: empty it and keep its memory; record_free: give that back. */
void record_clear(struct record *record);
void record_free(struct record *record);

void record_set_dn(struct record *record, const char *dn, size_t length);
void record_add(struct record *record, const char *type, size_t type_length, const char *value,
		size_t value_length);

/* record_copy: `to`, all zero, becomes a copy with no room to spare. */
void record_copy(struct record *to, const struct record *from);

/*
 * record_rdn_value: the value of a DN's first RDN without escapes, in lower
 * case, into out[size]. Returns its length, or 0 when the DN does not start
 * with TYPE=VALUE, has a broken escape or the value does not fit.
 * *type_length is set to the length of TYPE.
 */
size_t record_rdn_value(const char *dn, size_t length, size_t *type_length, char *out, size_t size);

/* record_rdn_end: the length of a DN's first RDN. */
size_t record_rdn_end(const char *dn, size_t length);

#endif /* DIRECTORY_RECORD_H */
