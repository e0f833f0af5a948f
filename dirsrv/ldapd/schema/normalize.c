/* SPDX-License-Identifier: MIT */
/* Normal forms of values, by the matching rule of their type. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

/* --- times ---------------------------------------------------------------------------------- */

/* The most digits of a fraction that count. */
#define FRACTION_MAX 9
#define BILLION 1000000000

struct text {
	const char *at;
	const char *end;
};

/* Read n digits; -1: there are fewer. */
static int digits(struct text *text, int n)
{
	int number = 0;

	for (; n; n--, text->at++) {
		if (text->at == text->end || *text->at < '0' || *text->at > '9')
			return -1;
		number = number * 10 + (*text->at - '0');
	}
	return number;
}

static bool digit_follows(const struct text *text)
{
	return text->at < text->end && *text->at >= '0' && *text->at <= '9';
}

/* Read ".25" or ",25" in billionths; 0 without one; -1: no digit follows. */
static long fraction(struct text *text)
{
	long billionths = 0, unit = BILLION / 10;

	if (text->at == text->end || (*text->at != '.' && *text->at != ','))
		return 0;
	text->at++;
	if (!digit_follows(text))
		return -1;
	for (; digit_follows(text); text->at++, unit /= 10)
		billionths += (*text->at - '0') * unit;
	return billionths;
}

/* Read "Z" or "+0130" into seconds east of UTC. */
static bool zone(struct text *text, long *ret_east)
{
	int hours, minutes = 0;
	char sign;

	*ret_east = 0;
	if (text->at == text->end)
		return false;
	sign = *text->at++;
	if (sign == 'Z' || sign == 'z')
		return text->at == text->end;
	hours = digits(text, 2);
	if (digit_follows(text))
		minutes = digits(text, 2);
	*ret_east = (hours * 60L + minutes) * 60 * (sign == '-' ? -1 : 1);
	return (sign == '+' || sign == '-') && hours >= 0 && hours < 24 && minutes >= 0 &&
	       minutes < 60 && text->at == text->end;
}

/* Read all; *ret_rest is the fraction of a second in billionths. */
static bool read_time(struct text *text, struct tm *tm, long *ret_rest)
{
	long unit = 3600, part, east;
	long long rest;

	tm->tm_year = digits(text, 4) - 1900;
	tm->tm_mon = digits(text, 2) - 1;
	tm->tm_mday = digits(text, 2);
	tm->tm_hour = digits(text, 2);
	if (tm->tm_year < -1900 || tm->tm_mon < 0 || tm->tm_mon > 11 || tm->tm_mday < 1 ||
	    tm->tm_mday > 31 || tm->tm_hour < 0 || tm->tm_hour > 23)
		return false;
	if (digit_follows(text)) {
		tm->tm_min = digits(text, 2);
		unit = 60;
	}
	if (unit == 60 && digit_follows(text)) {
		tm->tm_sec = digits(text, 2);
		unit = 1;
	}
	part = fraction(text);
	if (tm->tm_min < 0 || tm->tm_min > 59 || tm->tm_sec < 0 || tm->tm_sec > 60 || part < 0 ||
	    !zone(text, &east))
		return false;
	rest = (long long)part * unit;
	tm->tm_sec += (int)(rest / BILLION - east);
	*ret_rest = (long)(rest % BILLION);
	return true;
}

bool time_normalize(struct dirsrv_bytes value, struct buffer *out)
{
	struct text text = {.at = value.data, .end = (const char *)value.data + value.length};
	struct tm tm = {0};
	char normal[64];
	time_t seconds;
	long rest;
	int n;

	if (!value.length || !read_time(&text, &tm, &rest))
		return false;
	seconds = timegm(&tm);
	gmtime_r(&seconds, &tm);
	n = snprintf(normal, sizeof(normal), "%04d%02d%02d%02d%02d%02d", tm.tm_year + 1900,
		     tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
	if (rest) {
		n += snprintf(normal + n, sizeof(normal) - (size_t)n, ".%0*ld", FRACTION_MAX, rest);
		while (normal[n - 1] == '0')
			n--;
	}
	buffer_append(out, normal, (size_t)n);
	return !out->failed;
}

void time_now(char out[TIME_TEXT_SIZE])
{
	time_t seconds = time(NULL);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(out, TIME_TEXT_SIZE, "%Y%m%d%H%M%SZ", &tm);
}

/* --- all rules ------------------------------------------------------------------------------ */

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
