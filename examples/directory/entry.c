/* SPDX-License-Identifier: MIT */
/* The objects themselves. Compiled once for each allocator. */
#include "entry.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Eight bytes at a time; the multiplier is the golden ratio in 64 bits. */
uint64_t bytes_hash(const char *bytes, size_t length)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t hash = length * odd, word;

	for (; length >= 8; length -= 8, bytes += 8) {
		memcpy(&word, bytes, 8);
		hash = (hash ^ word) * odd;
		hash ^= hash >> 29;
	}
	if (length) {
		word = 0;
		memcpy(&word, bytes, length);
		hash = (hash ^ word) * odd;
	}
	return hash ^ hash >> 32;
}

/* Lower case, no blanks around '=' and ','. Escaped characters stay. */
static uint32_t dn_normalize(const char *text, size_t length, char *out, uint32_t *rdns)
{
	uint32_t used = 0;

	*rdns = length ? 1 : 0;
	for (size_t i = 0; i < length; i++) {
		char c = text[i];

		if (c == '\\' && i + 1 < length) {
			out[used++] = c;
			out[used++] = (char)tolower((unsigned char)text[++i]);
			continue;
		}
		if (c == ' ' && (!used || strchr("=,", out[used - 1])))
			continue;
		if (c == ',' || c == '=')
			while (used && out[used - 1] == ' ')
				used--;
		if (c == ',')
			(*rdns)++;
		out[used++] = (char)tolower((unsigned char)c);
	}
	return used;
}

struct dn *dn_make(const char *text, size_t length)
{
	struct dn *dn = memory_new_dn();
	const char *equals = memchr(text, '=', length);

	dn->text = memory_new_text(length + 1);
	memcpy(dn->text, text, length);
	dn->text[length] = '\0';
	dn->length = (uint32_t)length;
	dn->normalized = memory_new_text(length + 1);
	dn->normalized_length = dn_normalize(text, length, dn->normalized, &dn->rdns);
	dn->normalized[dn->normalized_length] = '\0';
	dn->hash = bytes_hash(dn->normalized, dn->normalized_length);
	dn->type_length = equals ? (uint32_t)(equals - text) : 0;
	return dn;
}

struct dn *dn_copy(const struct dn *dn)
{
	struct dn *copy = memory_new_dn();

	*copy = *dn;
	copy->text = memory_new_text(dn->length + 1);
	memcpy(copy->text, dn->text, dn->length + 1);
	copy->normalized = memory_new_text(dn->normalized_length + 1);
	memcpy(copy->normalized, dn->normalized, dn->normalized_length + 1);
	return copy;
}

void dn_drop(struct dn *dn)
{
	if (!dn)
		return;
	memory_free_text(dn->text);
	memory_free_text(dn->normalized);
	memory_free_dn(dn);
}

struct value *dn_name(const struct dn *dn)
{
	char name[NAME_MAX_LENGTH];
	size_t type_length;
	size_t length = record_rdn_value(dn->text, dn->length, &type_length, name, sizeof(name));
	struct value *value = value_make(name, length);

	value_hash(value);
	return value;
}

struct value *value_make(const char *data, size_t length)
{
	struct value *value = memory_new_value();
	char *to = value->at.small;

	if (length > VALUE_INLINE)
		to = value->at.data = memory_new_text(length);
	memcpy(to, data, length);
	value->next = NULL;
	value->length = (uint32_t)length;
	value->hash = 0;
	return value;
}

void value_hash(struct value *value)
{
	value->hash = (uint32_t)bytes_hash(value_data(value), value->length);
}

bool value_equal(const struct value *a, const struct value *b)
{
	return a->hash == b->hash && a->length == b->length &&
	       memcmp(value_data(a), value_data(b), a->length) == 0;
}

void value_drop(struct value *value)
{
	if (value->length > VALUE_INLINE)
		memory_free_text(value->at.data);
	memory_free_value(value);
}

void value_drop_all(struct value *value)
{
	while (value) {
		struct value *next = value->next;

		value_drop(value);
		value = next;
	}
}

struct attribute *attribute_make(const char *type, size_t length)
{
	struct attribute *attribute = memory_new_attribute();

	attribute->next = NULL;
	attribute->first = NULL;
	attribute->last = NULL;
	attribute->count = 0;
	attribute->changed = 0;
	attribute->type_length = (uint32_t)length;
	memcpy(attribute->type, type, length);
	attribute->type[length] = '\0';
	return attribute;
}

void attribute_append(struct attribute *attribute, struct value *value)
{
	if (attribute->last)
		attribute->last->next = value;
	else
		attribute->first = value;
	attribute->last = value;
	attribute->count++;
}

static struct attribute *attribute_copy(const struct attribute *attribute)
{
	struct attribute *copy = attribute_make(attribute->type, attribute->type_length);

	copy->changed = attribute->changed;
	for (const struct value *value = attribute->first; value; value = value->next)
		attribute_append(copy, value_make(value_data(value), value->length));
	return copy;
}

void attribute_drop(struct attribute *attribute)
{
	if (!attribute)
		return;
	value_drop_all(attribute->first);
	memory_free_attribute(attribute);
}

static struct attribute *entry_find(const struct entry *entry, const char *type, size_t length)
{
	struct attribute *attribute = entry->first;

	while (attribute && (attribute->type_length != length ||
			     strncasecmp(attribute->type, type, length) != 0))
		attribute = attribute->next;
	return attribute;
}

static struct entry *entry_make(struct dn *dn, struct value *name)
{
	struct entry *entry = memory_new_entry();

	entry->next_dn = NULL;
	entry->next_name = NULL;
	entry->dn = dn;
	entry->name = name;
	entry->first = NULL;
	entry->last = NULL;
	entry->id = 0;
	entry->changed = 0;
	entry->attributes = 0;
	entry->values = 0;
	entry->flags = 0;
	memset(entry->uuid, 0, sizeof(entry->uuid));
	return entry;
}

void entry_append(struct entry *entry, struct attribute *attribute)
{
	if (entry->last)
		entry->last->next = attribute;
	else
		entry->first = attribute;
	entry->last = attribute;
	entry->attributes++;
	entry->values += attribute->count;
}

static void add_value(struct entry *entry, const char *type, size_t type_length,
		      struct value *value)
{
	struct attribute *attribute = entry_find(entry, type, type_length);

	if (!attribute) {
		attribute = attribute_make(type, type_length);
		entry_append(entry, attribute);
	}
	attribute_append(attribute, value);
	entry->values++;
}

struct entry *entry_from_record(const struct record *record, const char *dn, size_t dn_length)
{
	struct dn *name =
		dn ? dn_make(dn, dn_length) : dn_make(record_dn(record), record->dn_length);
	struct entry *entry = entry_make(name, dn_name(name));
	bool renamed = !dn; /* only the first naming value makes way */

	for (size_t i = 0; i < record->count; i++) {
		const struct pair *pair = &record->pairs[i];
		const char *type = record_type(record, i);
		struct value *value;

		if (!renamed && pair->type_length == name->type_length &&
		    strncasecmp(type, name->text, pair->type_length) == 0) {
			value = value_make(value_data(entry->name), entry->name->length);
			renamed = true;
		} else {
			value = value_make(record_value(record, i), pair->value_length);
		}
		add_value(entry, type, pair->type_length, value);
	}
	return entry;
}

struct entry *entry_copy(const struct entry *entry)
{
	struct value *name = value_make(value_data(entry->name), entry->name->length);
	struct entry *copy = entry_make(dn_copy(entry->dn), name);

	name->hash = entry->name->hash;
	copy->id = entry->id;
	copy->changed = entry->changed;
	memcpy(copy->uuid, entry->uuid, sizeof(copy->uuid));
	for (const struct attribute *attribute = entry->first; attribute;
	     attribute = attribute->next)
		entry_append(copy, attribute_copy(attribute));
	return copy;
}

void entry_drop(struct entry *entry)
{
	struct attribute *attribute = entry->first;

	while (attribute) {
		struct attribute *next = attribute->next;

		attribute_drop(attribute);
		attribute = next;
	}
	dn_drop(entry->dn);
	value_drop(entry->name);
	memory_free_entry(entry);
}

void entry_drop_all(struct entry *entry)
{
	while (entry) {
		struct entry *next = entry->next_dn;

		entry_drop(entry);
		entry = next;
	}
}

bool entry_replace(struct entry *entry, struct attribute *change, uint64_t id)
{
	struct attribute *attribute = entry_find(entry, change->type, change->type_length);
	struct attribute old;

	if (!attribute)
		return false;
	old = *attribute;
	attribute->first = change->first;
	attribute->last = change->last;
	attribute->count = change->count;
	attribute->changed = id;
	entry->values += change->count - old.count;
	entry->changed = id;
	change->first = old.first;
	change->last = old.last;
	change->count = old.count;
	return true;
}

/* Bytes of a value and its text; *sum makes the compiler read every byte. */
static uint64_t value_measure(const struct value *value, unsigned char *sum)
{
	const char *data = value_data(value);

	for (uint32_t i = 0; i < value->length; i++)
		*sum ^= (unsigned char)data[i];
	return sizeof(*value) + (value->length > VALUE_INLINE ? value->length : 0);
}

bool entry_measure(const struct entry *entry, struct directory_size *size)
{
	uint32_t attributes = 0, values = 0;
	unsigned char sum = 0;
	bool sound =
		strlen(entry->dn->text) == entry->dn->length &&
		bytes_hash(entry->dn->normalized, entry->dn->normalized_length) == entry->dn->hash;

	size->bytes += sizeof(*entry) + sizeof(*entry->dn) + entry->dn->length + 1 +
		       entry->dn->normalized_length + 1 + value_measure(entry->name, &sum);
	for (const struct attribute *a = entry->first; a; a = a->next) {
		uint32_t count = 0;

		sound = sound && strlen(a->type) == a->type_length;
		size->bytes += sizeof(*a);
		for (const struct value *value = a->first; value; value = value->next, count++)
			size->bytes += value_measure(value, &sum);
		sound = sound && count == a->count;
		attributes++;
		values += count;
	}
	size->entries++;
	size->attributes += attributes;
	size->values += values;
	*(volatile unsigned char *)&sum = sum;
	return sound && attributes == entry->attributes && values == entry->values;
}
