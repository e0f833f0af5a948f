/* SPDX-License-Identifier: MIT */
/* Normal forms of values, by the matching rule of their type. */
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "schema/dn.h"
#include "schema/schema.h"

/* --- texts: folded letter by letter, which in UTF-8 keeps their length ---------------------- */

/* The two bytes of a letter in UTF-8, as its small letter. */
static void fold_pair(unsigned char *pair)
{
	unsigned letter = (pair[0] & 0x1fu) << 6 | (pair[1] & 0x3fu);

	if ((letter >= 0xc0 && letter <= 0xde && letter != 0xd7) ||
	    (letter >= 0x391 && letter <= 0x3a9 && letter != 0x3a2) ||
	    (letter >= 0x410 && letter <= 0x42f))
		letter += 0x20;
	else if (letter >= 0x400 && letter <= 0x40f)
		letter += 0x50;
	else if ((letter >= 0x100 && letter <= 0x12f) || (letter >= 0x14a && letter <= 0x177))
		letter |= 1;
	pair[0] = (unsigned char)(0xc0 | letter >> 6);
	pair[1] = (unsigned char)(0x80 | (letter & 0x3f));
}

/* Whether a byte continues a letter of UTF-8. */
static bool is_rest(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

static void fold_text(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x80) {
			text[i] = bytes_fold(text[i]);
		} else if (c >= 0xc3 && c <= 0xd1 && i + 1 < length && is_rest(text[i + 1])) {
			fold_pair((unsigned char *)text + i);
			i++;
		}
	}
}

static size_t fold_squeeze(const char *from, size_t length, char *to)
{
	size_t used = 0;

	for (size_t i = 0; i < length; i++)
		if (from[i] != ' ' || !used || to[used - 1] != ' ')
			to[used++] = from[i];
	return used;
}

bool fold_normalize(struct dirsrv_bytes value, bool fold, struct buffer *out)
{
	const char *from = value.data;
	size_t length = value.length;
	char *to = buffer_reserve(out, length);

	while (length && *from == ' ') {
		from++;
		length--;
	}
	while (length && from[length - 1] == ' ')
		length--;
	if (!to || !value.length)
		return false;
	length = fold_squeeze(from, length, to);
	/* A value of blanks alone is one blank. */
	if (!length)
		to[length++] = ' ';
	if (fold)
		fold_text(to, length);
	out->length += length;
	return true;
}

/* --- all rules ------------------------------------------------------------------------------ */

/* The characters of a PrintableString (RFC 4517, 3.2). */
#define PRINTABLE "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'()+,-./:?= "

/* Without blanks and '-'. */
static bool normalize_telephone(struct dirsrv_bytes value, struct buffer *out)
{
	const char *from = value.data;
	char *to = buffer_reserve(out, value.length);
	size_t used = 0;

	if (!to)
		return false;
	for (size_t i = 0; i < value.length; i++)
		if (from[i] != ' ' && from[i] != '-')
			to[used++] = bytes_fold(from[i]);
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

/* Names of classes and types as the schema has them, others folded. */
static bool normalize_oid(struct dirsrv_bytes value, struct buffer *out)
{
	const struct schema_class *cls = schema_class_find(value.data, value.length);
	const struct schema_type *type = cls ? NULL : schema_type_find(value.data, value.length);
	struct dirsrv_bytes name = cls ? bytes_of(cls->name) : type ? bytes_of(type->name) : value;

	return fold_normalize(name, true, out);
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
	case SCHEMA_TELEPHONE:
		return normalize_telephone(value, out);
	case SCHEMA_INTEGER:
		return normalize_integer(value, out);
	case SCHEMA_DN:
		return dn_normalize(value, out);
	case SCHEMA_OID:
		return normalize_oid(value, out);
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

	if (rule == SCHEMA_TELEPHONE)
		return normalize_telephone(value, out);
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
