/* SPDX-License-Identifier: MIT */
/* The keys of an index. */
#include "store/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "schema/schema.h"

size_t keys_equality(struct dirsrv_bytes normal, char out[KEY_MAX])
{
	uint64_t hash;

	out[0] = KEY_EQUALITY;
	if (normal.length <= KEY_TEXT) {
		if (normal.length)
			memcpy(out + 1, normal.data, normal.length);
		return 1 + normal.length;
	}
	hash = bytes_hash(normal.data, normal.length);
	memcpy(out + 1, normal.data, KEY_TEXT);
	memcpy(out + 1 + KEY_TEXT, &hash, sizeof(hash));
	return KEY_MAX;
}

static void add(struct keys *keys, const char *key, size_t length)
{
	ids_append(&keys->starts, keys->bytes.length);
	buffer_byte(&keys->bytes, (char)length);
	buffer_append(&keys->bytes, key, length);
}

static void add_equality(struct keys *keys, struct dirsrv_bytes normal)
{
	char key[KEY_MAX];

	add(keys, key, keys_equality(normal, key));
}

/* A class is found as each of its superclasses, too. */
static void add_superclasses(struct keys *keys, struct dirsrv_bytes normal)
{
	const struct schema_class *cls = schema_class_find(normal.data, normal.length);
	struct buffer name = {0};

	while (cls && (cls = schema_class_sup(cls))) {
		buffer_clear(&name);
		schema_normalize(SCHEMA_OID, bytes_of(cls->name), &name);
		add_equality(keys, (struct dirsrv_bytes){name.data, name.length});
	}
	keys->bytes.failed |= name.failed;
	buffer_free(&name);
}

/* The value has STORE_START before it and STORE_END behind it. */
static void add_grams(struct keys *keys, struct dirsrv_bytes value)
{
	char key[1 + KEY_GRAM] = {KEY_SUBSTRING};

	for (size_t i = 0; i + KEY_GRAM <= value.length; i++) {
		memcpy(key + 1, (const char *)value.data + i, KEY_GRAM);
		add(keys, key, sizeof(key));
	}
}

static void add_value(struct keys *keys, const struct index *index, struct dirsrv_bytes value,
		      struct buffer *normal)
{
	enum schema_rule rule = schema_rule_of(index->schema);
	struct dirsrv_bytes text;

	buffer_clear(normal);
	buffer_byte(normal, STORE_START);
	if (!schema_normalize(rule, value, normal))
		return;
	buffer_byte(normal, STORE_END);
	if (normal->failed)
		return;
	text.data = normal->data + 1;
	text.length = normal->length - 2;
	if (index->kinds & BACKEND_INDEX_EQUALITY) {
		add_equality(keys, text);
		if (rule == SCHEMA_OID)
			add_superclasses(keys, text);
	}
	if (index->kinds & BACKEND_INDEX_SUBSTRING)
		add_grams(keys, (struct dirsrv_bytes){normal->data, normal->length});
}

/* Entries have types by their names in the schema, with options. */
static bool is_of(const struct index *index, struct dirsrv_bytes type)
{
	size_t length = strlen(index->name);

	if (type.length > length && ((const char *)type.data)[length] == ';')
		type.length = length;
	return bytes_equal_folded(type, (struct dirsrv_bytes){index->name, length});
}

struct dirsrv_bytes keys_at(const struct keys *keys, size_t i)
{
	const char *at = keys->bytes.data + keys->starts.id[i];
	struct dirsrv_bytes key = {.data = at + 1, .length = (unsigned char)*at};

	return key;
}

static int compare(const void *a, const void *b, void *arg)
{
	const char *bytes = arg;
	const char *x = bytes + *(const uint64_t *)a, *y = bytes + *(const uint64_t *)b;

	return bytes_compare((struct dirsrv_bytes){x + 1, (unsigned char)*x},
			     (struct dirsrv_bytes){y + 1, (unsigned char)*y});
}

static void sort(struct keys *keys)
{
	size_t used = 0;

	qsort_r(keys->starts.id, keys->starts.count, sizeof(*keys->starts.id), compare,
		keys->bytes.data);
	for (size_t i = 0; i < keys->starts.count; i++)
		if (!used || !bytes_equal(keys_at(keys, used - 1), keys_at(keys, i)))
			keys->starts.id[used++] = keys->starts.id[i];
	keys->starts.count = used;
}

void keys_make(const struct index *index, const struct dirsrv_pair *pairs, size_t n,
	       struct keys *keys)
{
	static const char presence = KEY_PRESENCE;
	struct buffer normal = {0};
	bool present = false;

	for (size_t i = 0; i < n; i++) {
		if (!is_of(index, pairs[i].type))
			continue;
		present = true;
		if (index->kinds & (BACKEND_INDEX_EQUALITY | BACKEND_INDEX_SUBSTRING))
			add_value(keys, index, pairs[i].value, &normal);
		keys->bytes.failed |= normal.failed;
	}
	if (present && index->kinds & BACKEND_INDEX_PRESENCE)
		add(keys, &presence, 1);
	if (keys->starts.count && !keys_failed(keys))
		sort(keys);
	buffer_free(&normal);
}

bool keys_failed(const struct keys *keys)
{
	return keys->bytes.failed || keys->starts.failed;
}

void keys_free(struct keys *keys)
{
	buffer_free(&keys->bytes);
	ids_free(&keys->starts);
}
