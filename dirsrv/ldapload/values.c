/* SPDX-License-Identifier: MIT */
/* Values from their range or file, and DNs from values. */
#include "values.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH_MAX 20
#define RANGE_MAX UINT64_C(1000000000000)
#define RANGE_FORM "FORMAT:FIRST-LAST, where FORMAT has one %%u or %%06u, as in user%%06u:0-9999"

/* "%06u" at the beginning of text: its length, 0 if it is something else. */
static size_t parse_conversion(const char *text, unsigned *width)
{
	char *end = (char *)text + 1;

	*width = 0;
	if (text[1] == '0') {
		unsigned long n = strtoul(text + 1, &end, 10);

		if (n < 1 || n > WIDTH_MAX)
			return 0;
		*width = (unsigned)n;
	}
	return *end == 'u' ? (size_t)(end + 1 - text) : 0;
}

static int parse_number(const char *text, const char **end, uint64_t *number)
{
	char *after;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	*number = strtoull(text, &after, 10);
	*end = after;
	return errno || *number >= RANGE_MAX ? -1 : 0;
}

/* "FIRST-LAST" */
static int parse_range(struct values *values, const char *text)
{
	uint64_t last;

	if (parse_number(text, &text, &values->first) || *text != '-' ||
	    parse_number(text + 1, &text, &last) || *text || last < values->first)
		return -1;
	values->count = last - values->first + 1;
	return 0;
}

static int parse_format(struct values *values, const char *text, const char *colon)
{
	const char *percent = memchr(text, '%', (size_t)(colon - text));
	size_t length = percent ? parse_conversion(percent, &values->width) : 0;
	const char *suffix = percent + length;

	if (length == 0 || suffix > colon || memchr(suffix, '%', (size_t)(colon - suffix)) ||
	    (size_t)(percent - text) >= sizeof(values->prefix) ||
	    (size_t)(colon - suffix) >= sizeof(values->suffix))
		return -1;
	memcpy(values->prefix, text, (size_t)(percent - text));
	memcpy(values->suffix, suffix, (size_t)(colon - suffix));
	return 0;
}

int values_parse(struct values *values, const char *text, char *error, size_t size)
{
	const char *colon = strrchr(text, ':');

	*values = (struct values){0};
	if (!colon || parse_format(values, text, colon) || parse_range(values, colon + 1)) {
		snprintf(error, size, "'%s' is no range of values; accepted: " RANGE_FORM, text);
		return -1;
	}
	return 0;
}

/* Keeps a line without its end. NULL, or what the file has that it must not have. */
static const char *add_line(struct values *values, const char *line)
{
	size_t length = strcspn(line, "\r\n"), value = strcspn(line, "\t\r\n");

	if (length == 0)
		return NULL;
	if (value == 0)
		return "a line without a value before the tab";
	if (value >= VALUE_MAX)
		return "a value longer than 255 bytes";
	if (length >= DN_MAX)
		return "a DN longer than 1023 bytes";
	if ((values->count & (values->count + 1)) == 0) { /* doubled when full: 1, 3, 7, … */
		char **lines = realloc(values->lines, (values->count * 2 + 1) * sizeof(*lines));

		if (!lines)
			return "more values than memory";
		values->lines = lines;
	}
	values->lines[values->count] = strndup(line, length);
	return values->lines[values->count++] ? NULL : "more values than memory";
}

int values_read(struct values *values, const char *path, char *error, size_t size)
{
	FILE *file = fopen(path, "re");
	const char *wrong = NULL;
	char *line = NULL;
	size_t capacity = 0;

	*values = (struct values){0};
	if (!file) {
		snprintf(error, size, "%s: %s", path, strerror(errno));
		return -1;
	}
	while (!wrong && getline(&line, &capacity, file) >= 0)
		wrong = add_line(values, line);
	if (!wrong && ferror(file))
		wrong = strerror(errno);
	else if (!wrong && values->count == 0)
		wrong = "no value; accepted: a value on each line";
	if (wrong)
		snprintf(error, size, "%s has %s", path, wrong);
	free(line);
	fclose(file);
	return wrong ? -1 : 0;
}

const char *values_get(const struct values *values, uint64_t index, char value[VALUE_MAX])
{
	const char *line, *tab;

	if (!values->lines) {
		snprintf(value, VALUE_MAX, "%s%0*llu%s", values->prefix, (int)values->width,
			 (unsigned long long)values->first + index, values->suffix);
		return NULL;
	}
	line = values->lines[index];
	tab = strchr(line, '\t');
	snprintf(value, VALUE_MAX, "%.*s", (int)strcspn(line, "\t"), line);
	return tab ? tab + 1 : NULL;
}

/* Must this character of a value have a backslash? */
static bool is_special(const char *value, const char *at)
{
	return strchr(",+\"\\<>;=", *at) || (at == value && (*at == ' ' || *at == '#')) ||
	       (at[1] == '\0' && *at == ' ');
}

void dn_print(char dn[DN_MAX], const char *attribute, const char *value, const char *base)
{
	char escaped[2 * VALUE_MAX], *to = escaped;

	for (const char *at = value; *at && to < escaped + sizeof(escaped) - 2; at++) {
		if (is_special(value, at))
			*to++ = '\\';
		*to++ = *at;
	}
	*to = '\0';
	snprintf(dn, DN_MAX, "%s=%s%s%s", attribute, escaped, *base ? "," : "", base);
}
