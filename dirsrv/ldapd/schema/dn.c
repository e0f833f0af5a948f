/* SPDX-License-Identifier: MIT */
/* DNs: taking text apart, the normal form. */
#include "schema/dn.h"

#include <string.h>

#include "base/bytes.h"
#include "schema/schema.h"

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
