/* SPDX-License-Identifier: MIT */
/*
 * The Accept header: media ranges separated by commas, each with parameters after
 * semicolons; the parameter q, 0 to 1, is the client's preference.
 */
#include "accept.h"

#include <strings.h>

/* One range, cut out of the header. */
struct range {
	char type[64];
	char version[16];
	double q;
};

/* Copy the text between two places without surrounding blanks and quotes; "": too long. */
static void copy_part(char *to, size_t size, const char *from, const char *end)
{
	size_t length;

	while (from < end && strchr(" \t\"", *from))
		from++;
	while (from < end && strchr(" \t\"", end[-1]))
		end--;
	length = (size_t)(end - from);
	if (length >= size)
		length = 0;
	memcpy(to, from, length);
	to[length] = '\0';
}

static void read_parameter(struct range *range, const char *from, const char *end)
{
	const char *equals = memchr(from, '=', (size_t)(end - from));
	char name[16], q[16];

	if (!equals)
		return;
	copy_part(name, sizeof(name), from, equals);
	if (strcasecmp(name, "version") == 0)
		copy_part(range->version, sizeof(range->version), equals + 1, end);
	if (strcasecmp(name, "q") == 0) {
		copy_part(q, sizeof(q), equals + 1, end);
		range->q = strtod(q, NULL);
	}
}

/* Read the range at text, which ends before `end`. */
static void read_range(struct range *range, const char *text, const char *end)
{
	const char *part = memchr(text, ';', (size_t)(end - text));

	*range = (struct range){.q = 1};
	copy_part(range->type, sizeof(range->type), text, part ? part : end);
	while (part) {
		const char *next = memchr(part + 1, ';', (size_t)(end - part - 1));

		read_parameter(range, part + 1, next ? next : end);
		part = next;
	}
}

enum exposition accept_format(const char *accept)
{
	double openmetrics = 0, classic = 0;

	while (accept) {
		const char *comma = strchr(accept, ',');
		struct range range;

		read_range(&range, accept, comma ? comma : accept + strlen(accept));
		if (strcasecmp(range.type, "application/openmetrics-text") == 0 &&
		    (!*range.version || strcmp(range.version, "1.0.0") == 0) &&
		    range.q > openmetrics)
			openmetrics = range.q;
		if (strcasecmp(range.type, "text/plain") == 0 && range.q > classic)
			classic = range.q;
		accept = comma ? comma + 1 : NULL;
	}
	return openmetrics > 0 && openmetrics >= classic ? EXPOSITION_OPENMETRICS
							 : EXPOSITION_CLASSIC;
}
