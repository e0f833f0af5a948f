/* SPDX-License-Identifier: MIT */
/*
 * LDIF, RFC 2849: records of "type: value" lines, separated by empty lines, the
 * DN first; "type:: base64"; continuation lines start with a blank; comments
 * start with '#'. Beyond the RFC, values may hold UTF-8 as it is, because real
 * files do. What is not read (URL values, change records) is reported as a bad
 * line. When the line with the DN is bad the whole record is left out.
 */
#include "source.h"

#define SKIP_LINE "this line is skipped"
#define SKIP_RECORD "this record is skipped"
#define ACCEPTED_LINE "'type: value' or 'type:: base64'"

/* A logical line taken apart. */
struct ldif_line {
	const char *type;
	size_t type_length;
	char *value;
	size_t length;
};

static bool valid_type(const char *type, size_t length)
{
	if (!length || !isalnum((unsigned char)type[0]))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)type[i]) && !strchr("-.;", type[i]))
			return false;
	return true;
}

static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

/* Decode in place; returns the length, or -1 when it is no base64. */
static long base64_decode(char *text, size_t length)
{
	size_t padding = 0, used = 0;
	unsigned bits = 0;

	if (length % 4)
		return -1;
	while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < length - padding; i++) {
		int digit = base64_digit(text[i]);

		if (digit < 0)
			return -1;
		bits = bits << 6 | (unsigned)digit;
		if (i % 4)
			text[used++] = (char)(bits >> (6 - i % 4 * 2));
	}
	return (long)used;
}

/* Take source->line apart. NULL, or what is wrong with it. */
static const char *split(struct source *source, struct ldif_line *out, const char **accepted)
{
	struct line *line = &source->line;
	char *colon = memchr(line->text, ':', line->length);
	char *end = line->text + line->length;
	bool base64 = colon && colon[1] == ':';

	*accepted = ACCEPTED_LINE;
	if (memchr(line->text, '\0', line->length))
		return "a NUL byte";
	if (!colon)
		return "no ':' in the line";
	out->type = line->text;
	out->type_length = (size_t)(colon - line->text);
	if (!valid_type(out->type, out->type_length)) {
		*accepted = "a type of letters, digits, '-', '.' and ';'";
		return "this is no attribute type";
	}
	if (out->type_length > ATTRIBUTE_TYPE_MAX && !source->unlimited) {
		*accepted = "types of up to 95 characters";
		return "the attribute type is too long";
	}
	if (colon[1] == '<')
		return "values from URLs (':<') are not read";
	out->value = colon + (base64 ? 2 : 1);
	while (*out->value == ' ')
		out->value++;
	out->length = (size_t)(end - out->value);
	if (base64) {
		long decoded = base64_decode(out->value, out->length);

		*accepted = "groups of four of A-Z a-z 0-9 + /, padded with '='";
		if (decoded < 0)
			return "the value is no base64";
		out->length = (size_t)decoded;
	}
	return NULL;
}

static bool is_type(const struct ldif_line *line, const char *type)
{
	return line->type_length == strlen(type) &&
	       strncasecmp(line->type, type, line->type_length) == 0;
}

static void skip_record(struct source *source)
{
	while (source_read_line(source, '\0') && source->line.length)
		continue;
}

/* Read on to the first line of a record that is no comment. */
static bool record_start(struct source *source)
{
	while (source_read_line(source, '\0'))
		if (source->line.length && source->line.text[0] != '#')
			return true;
	return false;
}

/* "version: 1" may be the file's first line. */
static const char *version_wrong(struct source *source, const struct ldif_line *line,
				 const char **accepted)
{
	if (source->started) {
		*accepted = "a record that starts with 'dn: '";
		return "the version stands only before the first record";
	}
	*accepted = "'version: 1'";
	return line->length == 1 && line->value[0] == '1' ? NULL : "an unknown LDIF version";
}

/* The record's DN. NULL, or what is wrong with it. */
static const char *dn_wrong(const struct source *source, const struct ldif_line *line,
			    const char **accepted)
{
	char value[NAME_MAX_LENGTH];
	size_t type_length;

	*accepted = "a record that starts with 'dn: '";
	if (!is_type(line, "dn"))
		return "the record does not start with its DN";
	if (source->unlimited)
		return NULL;
	*accepted = "a DN like 'cn=name,dc=example'";
	if (line->length > DN_MAX_LENGTH)
		return "the DN is longer than 1000 bytes";
	if (memchr(line->value, '\0', line->length) ||
	    !record_rdn_value(line->value, line->length, &type_length, value, sizeof(value)))
		return "this is no DN";
	return NULL;
}

/* The lines behind the DN. False: the record is no entry. */
static bool read_attributes(struct source *source, struct record *record)
{
	while (source_read_line(source, '\0') && source->line.length) {
		size_t number = source->line.number;
		struct ldif_line line;
		const char *accepted, *wrong;

		if (source->line.text[0] == '#')
			continue;
		wrong = split(source, &line, &accepted);
		if (!wrong && is_type(&line, "changetype")) {
			source_bad(source, number, SKIP_RECORD, "this is a change record",
				   "records of entries");
			skip_record(source);
			return false;
		}
		if (!wrong && is_type(&line, "dn")) {
			wrong = "a second DN in one record";
			accepted = "an empty line between records";
		}
		if (!wrong)
			record_add(record, line.type, line.type_length, line.value, line.length);
		else
			source_bad(source, number, SKIP_LINE, wrong, accepted);
	}
	return true;
}

/* One record, its first line being read. False: it is no entry. */
static bool read_record(struct source *source, struct record *record)
{
	struct ldif_line line;
	const char *accepted, *wrong = split(source, &line, &accepted);
	size_t number = source->line.number;

	if (!wrong && is_type(&line, "version")) {
		wrong = version_wrong(source, &line, &accepted);
		source->started = true;
		if (wrong)
			source_bad(source, number, SKIP_LINE, wrong, accepted);
		return false;
	}
	source->started = true;
	if (!wrong)
		wrong = dn_wrong(source, &line, &accepted);
	if (wrong) {
		skip_record(source);
		source_bad(source, number, SKIP_RECORD, wrong, accepted);
		return false;
	}
	record->line = number;
	record_set_dn(record, line.value, line.length);
	if (!read_attributes(source, record))
		return false;
	if (!record->count)
		source_bad(source, record->line, SKIP_RECORD, "an entry without attributes",
			   ACCEPTED_LINE " behind the DN");
	return record->count > 0;
}

static enum source_status ldif_next(struct source *source, struct record *record)
{
	while (record_start(source)) {
		if (read_record(source, record))
			return SOURCE_RECORD;
		record_clear(record);
	}
	return SOURCE_END;
}

enum source_status source_next(struct source *source, struct record *record)
{
	enum source_status status;

	record_clear(record);
	status = source->is_ldif ? ldif_next(source, record) : dpkg_next(source, record);
	if (status == SOURCE_END && ferror(source->file)) {
		fprintf(stderr, "directory: cannot read %s: %s\n", source->path, strerror(errno));
		return SOURCE_FAILED;
	}
	return status;
}
