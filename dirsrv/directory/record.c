/* SPDX-License-Identifier: MIT */
/*
 * Records and the little that sources need to know about DNs (RFC 4514); what both readers share:
 * lines with continuations, and complaints.
 */
#include "source.h"

/* --- records -------------------------------------------------------------------------------- */

static void *grow(void *memory, size_t bytes)
{
	void *grown = realloc(memory, bytes);

	if (!grown) {
		fprintf(stderr, "directory: out of memory: a record needs %zu bytes\n", bytes);
		exit(1);
	}
	return grown;
}

void record_clear(struct record *record)
{
	record->line = 0;
	record->dn = 0;
	record->dn_length = 0;
	record->length = 0;
	record->count = 0;
}

void record_free(struct record *record)
{
	free(record->text);
	free(record->pairs);
	memset(record, 0, sizeof(*record));
}

/* Append to the text; returns where. Every piece ends with a NUL. */
static size_t append(struct record *record, const char *bytes, size_t length)
{
	size_t at = record->length;

	if (record->capacity - at < length + 1) {
		record->capacity = (at + length + 1) * 2;
		record->text = grow(record->text, record->capacity);
	}
	memcpy(record->text + at, bytes, length);
	record->text[at + length] = '\0';
	record->length = at + length + 1;
	return at;
}

void record_set_dn(struct record *record, const char *dn, size_t length)
{
	record->dn = append(record, dn, length);
	record->dn_length = length;
}

void record_add(struct record *record, const char *type, size_t type_length, const char *value,
		size_t value_length)
{
	struct pair *pair;

	if (record->count == record->pairs_capacity) {
		record->pairs_capacity = record->count ? record->count * 2 : 32;
		record->pairs = grow(record->pairs, record->pairs_capacity * sizeof(*pair));
	}
	pair = &record->pairs[record->count++];
	pair->type = append(record, type, type_length);
	pair->type_length = type_length;
	pair->value = append(record, value, value_length);
	pair->value_length = value_length;
}

void record_copy(struct record *to, const struct record *from)
{
	*to = *from;
	to->text = grow(NULL, from->length);
	to->capacity = from->length;
	memcpy(to->text, from->text, from->length);
	to->pairs = NULL;
	to->pairs_capacity = from->count;
	if (!from->count)
		return;
	to->pairs = grow(NULL, from->count * sizeof(*from->pairs));
	memcpy(to->pairs, from->pairs, from->count * sizeof(*from->pairs));
}

size_t record_rdn_end(const char *dn, size_t length)
{
	size_t i = 0;

	while (i < length && dn[i] != ',')
		i += dn[i] == '\\' ? 2 : 1;
	return i < length ? i : length;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* One character behind a backslash; returns how many bytes it took, 0: broken. */
static size_t unescape(const char *text, size_t length, char *out)
{
	int high = length > 1 ? hex_digit(text[0]) : -1;
	int low = length > 1 ? hex_digit(text[1]) : -1;

	if (high >= 0 && low >= 0) {
		*out = (char)(high * 16 + low);
		return 2;
	}
	if (!length || !strchr(" \"#+,;<=>\\", text[0]))
		return 0;
	*out = text[0];
	return 1;
}

size_t record_rdn_value(const char *dn, size_t length, size_t *type_length, char *out, size_t size)
{
	size_t end = record_rdn_end(dn, length);
	const char *equals = memchr(dn, '=', end);
	size_t at, used = 0;

	if (!equals || equals == dn)
		return 0;
	at = (size_t)(equals - dn);
	*type_length = at++;
	while (*type_length && dn[*type_length - 1] == ' ')
		(*type_length)--;
	while (at < end && dn[at] == ' ')
		at++;
	while (at < end && used < size) {
		char c = dn[at++];

		if (c == '\\') {
			size_t taken = unescape(dn + at, end - at, &c);

			if (!taken)
				return 0;
			at += taken;
		}
		out[used++] = (char)tolower((unsigned char)c);
	}
	return at < end ? 0 : used;
}

/* --- sources -------------------------------------------------------------------------------- */

/* No more error messages than fit on a screen. */
#define REPORTS_MAX 20

static void read_ahead(struct source *source)
{
	source->ahead_length = getline(&source->ahead, &source->ahead_size, source->file);
	source->ahead_number++;
	if (source->ahead_length > 0 && source->ahead[source->ahead_length - 1] == '\n')
		source->ahead_length--;
	if (source->ahead_length > 0 && source->ahead[source->ahead_length - 1] == '\r')
		source->ahead_length--;
}

bool source_try_open(struct source *source, const char *ldif)
{
	memset(source, 0, sizeof(*source));
	source->is_ldif = ldif != NULL;
	source->path = ldif ? ldif : DPKG_STATUS;
	source->file = fopen(source->path, "re");
	if (!source->file)
		return false;
	read_ahead(source);
	return true;
}

int source_open(struct source *source, const char *ldif)
{
	if (source_try_open(source, ldif))
		return 0;
	fprintf(stderr, "directory: cannot read %s: %s; give a directory with --ldif FILE\n",
		source->path, strerror(errno));
	return -1;
}

void source_close(struct source *source)
{
	if (source->bad > REPORTS_MAX)
		fprintf(stderr, "%s: %zu more bad lines\n", source->path,
			source->bad - REPORTS_MAX);
	fclose(source->file);
	free(source->line.text);
	free(source->ahead);
	free(source->sections);
	record_free(&source->pending);
}

static void line_append(struct line *line, const char *text, size_t length)
{
	if (line->capacity - line->length < length + 1) {
		char *grown = realloc(line->text, (line->length + length + 1) * 2);

		if (!grown) {
			fprintf(stderr, "directory: out of memory: line %zu is too long\n",
				line->number);
			exit(1);
		}
		line->text = grown;
		line->capacity = (line->length + length + 1) * 2;
	}
	memcpy(line->text + line->length, text, length);
	line->length += length;
	line->text[line->length] = '\0';
}

bool source_read_line(struct source *source, char join)
{
	struct line *line = &source->line;

	if (source->ahead_length < 0)
		return false;
	line->length = 0;
	line->number = source->ahead_number;
	line_append(line, source->ahead, (size_t)source->ahead_length);
	read_ahead(source);
	while (line->length && source->ahead_length > 0 && source->ahead[0] == ' ') {
		if (join)
			line_append(line, &join, 1);
		line_append(line, source->ahead + 1, (size_t)source->ahead_length - 1);
		read_ahead(source);
	}
	return true;
}

void source_bad(struct source *source, size_t line, const char *what, const char *wrong,
		const char *accepted)
{
	if (source->bad++ < REPORTS_MAX)
		fprintf(stderr, "%s:%zu: %s; accepted: %s; %s\n", source->path, line, wrong,
			accepted, what);
}
