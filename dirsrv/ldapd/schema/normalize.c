/* SPDX-License-Identifier: MIT */
/* Normal forms of values, by the matching rule of their type. */
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "schema/dn.h"
#include "schema/fold.h"
#include "schema/schema.h"
#include "schema/time.h"

/* The characters of a PrintableString (RFC 4517, 3.2). */
#define PRINTABLE "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'()+,-./:?= "

/* Without blanks, and without '-' in telephone numbers. */
static bool normalize_dense(enum schema_rule rule, struct dirsrv_bytes value, struct buffer *out)
{
	const char *from = value.data;
	char *to = buffer_reserve(out, value.length);
	size_t used = 0;

	if (!to)
		return false;
	for (size_t i = 0; i < value.length; i++) {
		if (from[i] == ' ' || (from[i] == '-' && rule == SCHEMA_TELEPHONE))
			continue;
		if (rule == SCHEMA_NUMERIC && (from[i] < '0' || from[i] > '9'))
			return false;
		to[used++] = bytes_fold(from[i]);
	}
	out->length += used;
	return used > 0;
}

/* The longest number of digits. */
#define DIGITS_MAX 0xffff

/* Sign, number of digits, digits: in the order of the numbers. */
static bool normalize_integer(struct dirsrv_bytes value, struct buffer *out)
{
	const char *at = value.data, *end = at + value.length;
	bool negative = at < end && *at == '-';
	char *to;
	size_t n;

	at += negative;
	n = (size_t)(end - at);
	if (!n || n > DIGITS_MAX || (n > 1 && *at == '0') || (negative && *at == '0'))
		return false;
	to = buffer_reserve(out, n + 3);
	if (!to)
		return false;
	to[0] = negative ? 0 : 1;
	to[1] = (char)((n >> 8) ^ (negative ? 0xff : 0));
	to[2] = (char)((n & 0xff) ^ (negative ? 0xff : 0));
	for (size_t i = 0; i < n; i++) {
		if (at[i] < '0' || at[i] > '9')
			return false;
		to[3 + i] = negative ? (char)('0' + ('9' - at[i])) : at[i];
	}
	out->length += n + 3;
	return true;
}

static bool normalize_boolean(struct dirsrv_bytes value, struct buffer *out)
{
	bool yes = bytes_equal_folded(value, bytes_of("TRUE"));

	if (!yes && !bytes_equal_folded(value, bytes_of("FALSE")))
		return false;
	buffer_byte(out, yes ? '1' : '0');
	return !out->failed;
}

/* Names of classes and types as the schema has them, others folded. */
static bool normalize_oid(struct dirsrv_bytes value, struct buffer *out)
{
	const struct schema_class *cls = schema_class_find(value.data, value.length);
	const struct schema_type *type = cls ? NULL : schema_type_find(value.data, value.length);
	struct dirsrv_bytes name = cls ? bytes_of(cls->name) : type ? bytes_of(type->name) : value;

	return fold_normalize(name, true, out);
}

static bool normalize_uuid(struct dirsrv_bytes value, struct buffer *out)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	const char *from = value.data;
	char *to = buffer_reserve(out, value.length);

	if (!to || value.length != sizeof(form) - 1)
		return false;
	for (size_t i = 0; i < value.length; i++) {
		to[i] = bytes_fold(from[i]);
		if (form[i] == '-' ? to[i] != '-' : !to[i] || !strchr("0123456789abcdef", to[i]))
			return false;
	}
	out->length += value.length;
	return true;
}

static bool normalize_octets(struct dirsrv_bytes value, struct buffer *out)
{
	buffer_append(out, value.data, value.length);
	return !out->failed;
}

bool schema_normalize(enum schema_rule rule, struct dirsrv_bytes value, struct buffer *out)
{
	switch (rule) {
	case SCHEMA_CASE_IGNORE:
	case SCHEMA_CASE_EXACT:
		return fold_normalize(value, rule == SCHEMA_CASE_IGNORE, out);
	case SCHEMA_NUMERIC:
	case SCHEMA_TELEPHONE:
		return normalize_dense(rule, value, out);
	case SCHEMA_INTEGER:
		return normalize_integer(value, out);
	case SCHEMA_BOOLEAN:
		return normalize_boolean(value, out);
	case SCHEMA_DN:
		return dn_normalize(value, out);
	case SCHEMA_TIME:
		return time_normalize(value, out);
	case SCHEMA_OID:
		return normalize_oid(value, out);
	case SCHEMA_UUID:
		return normalize_uuid(value, out);
	case SCHEMA_OCTETS:
	case SCHEMA_NO_MATCH:
		break;
	}
	return normalize_octets(value, out);
}

bool schema_normalize_part(enum schema_rule rule, enum schema_part part, struct dirsrv_bytes value,
			   struct buffer *out)
{
	const char *from = value.data;
	size_t length = value.length;
	char *to;

	if (rule == SCHEMA_NUMERIC || rule == SCHEMA_TELEPHONE)
		return normalize_dense(rule, value, out);
	if (rule != SCHEMA_CASE_IGNORE && rule != SCHEMA_CASE_EXACT)
		return normalize_octets(value, out);
	while (part == SCHEMA_INITIAL && length && *from == ' ') {
		from++;
		length--;
	}
	while (part == SCHEMA_FINAL && length && from[length - 1] == ' ')
		length--;
	to = buffer_reserve(out, value.length + 1);
	if (!to)
		return false;
	length = fold_squeeze(from, length, to);
	if (!length)
		to[length++] = ' ';
	if (rule == SCHEMA_CASE_IGNORE)
		fold_text(to, length);
	out->length += length;
	return true;
}

bool schema_allows(const struct schema_type *type, struct dirsrv_bytes value)
{
	const char *text = value.data;
	const bool ascii = schema_flags_of(type) & SCHEMA_ASCII;
	const bool printable = schema_flags_of(type) & SCHEMA_PRINTABLE;

	for (size_t i = 0; i < value.length; i++)
		if ((ascii && (unsigned char)text[i] >= 0x80) ||
		    (printable && (!text[i] || !strchr(PRINTABLE, text[i]))))
			return false;
	return true;
}

bool schema_valid(const struct schema_type *type, struct dirsrv_bytes value)
{
	struct buffer normal = {0};
	bool valid;

	if (!schema_allows(type, value))
		return false;
	if (!type || type->rule == SCHEMA_NO_MATCH || type->rule == SCHEMA_OCTETS)
		return value.length || (type && type->rule == SCHEMA_OCTETS);
	valid = (value.length || type->rule == SCHEMA_DN) &&
		(schema_normalize(type->rule, value, &normal) || normal.failed);
	buffer_free(&normal);
	return valid;
}
