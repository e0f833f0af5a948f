/* SPDX-License-Identifier: MIT */
/*
 * Where entries come from: an LDIF file, or this machine's Debian package
 * catalogue. Both read one record at a time and report what they cannot read.
 */
#ifndef DIRECTORY_SOURCE_H
#define DIRECTORY_SOURCE_H

#include "record.h"

#include <stdbool.h>
#include <stdio.h>

#define DPKG_STATUS "/var/lib/dpkg/status"

/* A line of the source, already unfolded. */
struct line {
	char *text;
	size_t length;
	size_t capacity;
	size_t number; /* of its first physical line */
};

/* What a source reader is doing. */
struct source {
	FILE *file;
	const char *path;
	bool is_ldif;
	bool unlimited; /* LDIF: DNs and types of any length; the caller checks DNs */
	size_t bad; /* lines that were reported */
	/* The reader's own state. */
	struct line line;     /* the current logical line */
	char *ahead;          /* the physical line after it */
	size_t ahead_size;
	long ahead_length;    /* -1 at the end */
	size_t ahead_number;
	bool started;         /* LDIF: the first line may have the version */
	char (*sections)[64]; /* dpkg: sections that have their entry */
	size_t section_count;
	bool suffix_done;
	struct record pending; /* dpkg: a package that waits for its section's entry */
};

enum source_status {
	SOURCE_RECORD, /* a record was read */
	SOURCE_END,
	SOURCE_FAILED /* a read error, which was reported */
};

/* source_open: ldif is a path or NULL for the package catalogue. 0, or -1 after
 * saying what is wrong. source_try_open: false, and errno says why it cannot be read. */
int source_open(struct source *source, const char *ldif);
bool source_try_open(struct source *source, const char *ldif);
void source_close(struct source *source);

/* source_next: the next record. */
enum source_status source_next(struct source *source, struct record *record);

/* source_bad: report that a line cannot be read; `accepted` says what can. `what` names that which
 * is left out. */
void source_bad(struct source *source, size_t line, const char *what, const char *wrong,
		const char *accepted);

/*
 * source_read_line: the next logical line, continuation lines joined: those
 * start with a blank. LDIF drops that blank; `join` is what is put in place of
 * the line break, '\0' for nothing. False at the end.
 */
bool source_read_line(struct source *source, char join);

/* The two readers, called by source_next(). */
enum source_status ldif_next(struct source *source, struct record *record);
enum source_status dpkg_next(struct source *source, struct record *record);

#endif /* DIRECTORY_SOURCE_H */
