/* SPDX-License-Identifier: MIT */
/* Normal forms: of values, by the matching rule of their type; of DNs, and taking these apart. */

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

/* Append a text without blanks at its ends, each run of blanks as one, and with
 * `fold` in small letters. False: it is empty, or (out->failed) there is no memory. */
static bool fold_normalize(struct dirsrv_bytes value, bool fold, struct buffer *out)
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

/* --- DNs ------------------------------------------------------------------------------------ */

/* The most parts of one RDN. */
#define PARTS_MAX 16

/* The most RDNs of a DN: looking for the nearest entry above one that does not exist takes as many
 * look-ups. */
#define RDNS_MAX 1000

static struct dirsrv_bytes trim(const char *from, const char *end)
{
	struct dirsrv_bytes bytes;

	while (from < end && *from == ' ')
		from++;
	while (end > from && end[-1] == ' ' && !(end - 1 > from && end[-2] == '\\'))
		end--;
	bytes.data = from;
	bytes.length = (size_t)(end - from);
	return bytes;
}

/* The first character of `stops` that no backslash escapes, or the end. */
static const char *find_unescaped(const char *at, const char *end, const char *stops)
{
	for (; at < end; at++) {
		if (*at == '\\')
			at++;
		else if (*at && strchr(stops, *at))
			return at;
	}
	return end;
}

static const char *end_of(struct dirsrv_bytes text)
{
	return (const char *)text.data + text.length;
}

struct dirsrv_bytes dn_rdn(struct dirsrv_bytes text)
{
	return trim(text.data, find_unescaped(text.data, end_of(text), ","));
}

static int hex(char c)
{
	c = bytes_fold(c);
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Append a value without its escapes. False: an escape without its end. */
static bool unescape(struct dirsrv_bytes value, struct buffer *out)
{
	const char *at = value.data, *end = at + value.length;

	for (; at < end; at++) {
		if (*at != '\\') {
			buffer_byte(out, *at);
			continue;
		}
		if (++at == end)
			return false;
		if (end - at > 1 && hex(at[0]) >= 0 && hex(at[1]) >= 0) {
			buffer_byte(out, (char)(hex(at[0]) << 4 | hex(at[1])));
			at++;
		} else {
			buffer_byte(out, *at);
		}
	}
	return true;
}

int dn_part_next(struct dirsrv_bytes *rest, struct dn_part *part, struct buffer *room)
{
	const char *at = rest->data, *end = at + rest->length, *plus, *equals;
	size_t start = room->length;

	if (!rest->length)
		return 0;
	plus = find_unescaped(at, end, "+");
	equals = memchr(at, '=', (size_t)(plus - at));
	if (!equals || plus + 1 == end)
		return -1;
	part->type = trim(at, equals);
	if (!part->type.length || memchr(part->type.data, '\\', part->type.length))
		return -1;
	if (!unescape(trim(equals + 1, plus), room) || room->failed)
		return -1;
	part->value.data = room->data ? room->data + start : "";
	part->value.length = room->length - start;
	rest->data = plus < end ? plus + 1 : end;
	rest->length = (size_t)(end - (plus < end ? plus + 1 : end));
	return 1;
}

/* Escape the two bytes that have a meaning in the normal form. */
static void append_value(struct dirsrv_bytes value, struct buffer *out)
{
	const char *at = value.data;

	for (size_t i = 0; i < value.length; i++) {
		if ((unsigned char)at[i] <= 2)
			buffer_byte(out, '\002');
		buffer_byte(out, (unsigned char)at[i] <= 2 ? (char)(at[i] + 3) : at[i]);
	}
}

/* Append "type=value" in normal form. */
static bool append_part(const struct dn_part *part, struct buffer *out)
{
	struct dirsrv_bytes base;
	struct buffer value = {0};
	bool valid;

	schema_split(part->type, &base, &valid);
	if (!valid)
		return false;
	for (size_t i = 0; i < base.length; i++)
		buffer_byte(out, bytes_fold(((const char *)base.data)[i]));
	buffer_byte(out, '=');
	/* What is no directory string, such as "", counts as it is. */
	if (!fold_normalize(part->value, true, &value))
		buffer_append(&value, part->value.data, part->value.length);
	append_value((struct dirsrv_bytes){value.data, value.length}, out);
	out->failed |= value.failed;
	buffer_free(&value);
	return !out->failed;
}

/* Append the normal parts, each once in the order of their bytes. */
static void append_sorted(const struct buffer *parts, size_t *starts, unsigned n,
			  struct buffer *out)
{
	for (unsigned done = 0; done < n; done++) {
		struct dirsrv_bytes least = {NULL, 0};
		unsigned chosen = 0;

		for (unsigned i = 0; i < n; i++) {
			struct dirsrv_bytes part = {parts->data + starts[i], 0};

			if (starts[i] == SIZE_MAX)
				continue;
			part.length = strlen(part.data);
			if (!least.data || bytes_compare(part, least) < 0) {
				least = part;
				chosen = i;
			}
		}
		if (done)
			buffer_byte(out, DN_AND);
		buffer_append(out, least.data, least.length);
		starts[chosen] = SIZE_MAX;
	}
}

static bool append_rdn(struct dirsrv_bytes rdn, struct buffer *out)
{
	struct buffer room = {0}, parts = {0};
	size_t starts[PARTS_MAX];
	struct dn_part part;
	unsigned n = 0;
	int more;

	while ((more = dn_part_next(&rdn, &part, &room)) > 0) {
		if (n == PARTS_MAX)
			break;
		starts[n++] = parts.length;
		if (!append_part(&part, &parts))
			break;
		buffer_byte(&parts, '\0');
	}
	if (!more && n && !parts.failed)
		append_sorted(&parts, starts, n, out);
	out->failed |= room.failed | parts.failed;
	buffer_free(&room);
	buffer_free(&parts);
	return !more && n && !out->failed;
}

bool dn_normalize(struct dirsrv_bytes text, struct buffer *out)
{
	const char *at = text.data, *end = at + text.length;
	size_t start = out->length;
	unsigned rdns = 0;

	if (!trim(at, end).length)
		return true;
	for (;; at++) {
		const char *comma = find_unescaped(at, end, ",");

		if (text.length > DIRSRV_DN_MAX || ++rdns > RDNS_MAX ||
		    !append_rdn(trim(at, comma), out)) {
			out->length = start;
			return false;
		}
		if (comma == end)
			return true;
		buffer_byte(out, DN_SEPARATOR);
		at = comma;
	}
}

bool dn_under(struct dirsrv_bytes normal, struct dirsrv_bytes above)
{
	const char *end = end_of(normal);

	if (!above.length)
		return normal.length > 0;
	return normal.length > above.length && end[-(long)above.length - 1] == DN_SEPARATOR &&
	       memcmp(end - above.length, above.data, above.length) == 0;
}

struct dirsrv_bytes dn_normal_parent(struct dirsrv_bytes normal)
{
	struct dirsrv_bytes parent = {"", 0};
	const char *separator;

	if (!normal.length)
		return parent; /* and normal.data may be NULL */
	separator = memchr(normal.data, DN_SEPARATOR, normal.length);
	if (separator) {
		parent.data = separator + 1;
		parent.length = (size_t)(end_of(normal) - separator - 1);
	}
	return parent;
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
