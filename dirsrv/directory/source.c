/* SPDX-License-Identifier: MIT */
/* What both readers share: lines with continuations, and complaints. */
#include "source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
