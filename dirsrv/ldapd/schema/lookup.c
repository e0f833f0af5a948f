/* SPDX-License-Identifier: MIT */
/* Types and classes by name: a hash table over names, aliases and OIDs, made at the first use. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "schema/tables.h"

/* Slots of a table: a power of two, more than twice the names. */
#define SLOTS 1024

struct slot {
	const char *name;
	const void *item; /* the type or class */
};

static struct slot types[SLOTS], classes[SLOTS];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static size_t hash_folded(const char *name, size_t length)
{
	uint32_t hash = (uint32_t)length;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes_fold(name[i])) * UINT32_C(0x9e3779b1);
	return hash >> 16 & (SLOTS - 1);
}

/* The slot of a name, or the free one where it belongs. */
static struct slot *find(struct slot *table, const char *name, size_t length)
{
	size_t i = hash_folded(name, length);
	struct dirsrv_bytes wanted = {name, length};

	while (table[i].name && !bytes_equal_folded(bytes_of(table[i].name), wanted))
		i = (i + 1) & (SLOTS - 1);
	return &table[i];
}

static void enter(struct slot *table, const char *name, const void *item)
{
	struct slot *slot;

	if (!name)
		return;
	slot = find(table, name, strlen(name));
	slot->name = name;
	slot->item = item;
}

static void make_tables(void)
{
	for (size_t i = 0; i < schema_type_count; i++) {
		enter(types, schema_types[i].name, &schema_types[i]);
		enter(types, schema_types[i].alias, &schema_types[i]);
		enter(types, schema_types[i].oid, &schema_types[i]);
	}
	for (size_t i = 0; i < schema_class_count; i++) {
		enter(classes, schema_classes[i].name, &schema_classes[i]);
		enter(classes, schema_classes[i].oid, &schema_classes[i]);
	}
}

const struct schema_type *schema_type_find(const char *name, size_t length)
{
	pthread_once(&made, make_tables);
	return find(types, name, length)->item;
}

const struct schema_class *schema_class_find(const char *name, size_t length)
{
	pthread_once(&made, make_tables);
	return find(classes, name, length)->item;
}

bool schema_type_is(const struct schema_type *type, const struct schema_type *other)
{
	while (type && type != other)
		type = type->sup ? schema_type_find(type->sup, strlen(type->sup)) : NULL;
	return type != NULL;
}

const struct schema_class *schema_class_sup(const struct schema_class *cls)
{
	return cls->sup ? schema_class_find(cls->sup, strlen(cls->sup)) : NULL;
}

bool schema_class_is(const struct schema_class *cls, const struct schema_class *other)
{
	while (cls && cls != other)
		cls = schema_class_sup(cls);
	return cls != NULL;
}

static bool is_alpha(char c)
{
	c = bytes_fold(c);
	return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A descriptor ("cn") or an OID ("2.5.4.3"), of RFC 4512, 1.4. */
static bool valid_name(const char *name, size_t length)
{
	bool number = length && is_digit(name[0]);

	if (!length || (!number && !is_alpha(name[0])))
		return false;
	for (size_t i = 1; i < length; i++) {
		bool dot = name[i] == '.' && is_digit(name[i - 1]) && i + 1 < length;

		if (number ? !is_digit(name[i]) && !dot
			   : !is_alpha(name[i]) && !is_digit(name[i]) && name[i] != '-' &&
				     name[i] != '_')
			return false;
	}
	return true;
}

static bool valid_options(const char *options, size_t length)
{
	if (length && options[length - 1] == ';')
		return false;
	for (size_t i = 0; i < length; i++) {
		char c = options[i];

		if (c == ';' ? i && options[i - 1] == ';'
			     : !is_alpha(c) && !is_digit(c) && c != '-' && c != '_')
			return false;
	}
	return true;
}

const struct schema_type *schema_split(struct dirsrv_bytes description, struct dirsrv_bytes *base,
				       struct dirsrv_bytes *options, bool *valid)
{
	const char *text = description.data;
	const char *semicolon = description.length ? memchr(text, ';', description.length) : NULL;
	size_t length = semicolon ? (size_t)(semicolon - text) : description.length;
	const struct schema_type *type = schema_type_find(text, length);

	options->data = text + length;
	options->length = description.length - length;
	*valid = valid_name(text, length) && valid_options(options->data, options->length);
	*base = type ? bytes_of(type->name) : (struct dirsrv_bytes){text, length};
	return type;
}

enum schema_rule schema_rule_of(const struct schema_type *type)
{
	return type ? type->rule : SCHEMA_CASE_IGNORE;
}

unsigned schema_flags_of(const struct schema_type *type)
{
	return type ? type->flags : SCHEMA_ORDERING | SCHEMA_SUBSTRINGS;
}
