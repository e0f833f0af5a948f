/* SPDX-License-Identifier: MIT */
/*
 * Where entries come from: an LDIF file, or this machine's Debian package catalogue. Both read one
 * record at a time, and report what they cannot read.
 */
#pragma once

#include "posix.h"

/* One entry as a source has it: a DN and pairs of attribute type and value, all in one buffer that
 * is used again for the next record. Offsets are into the record's text, which moves when it
 * grows. */
struct pair {
	size_t type;
	size_t type_length;
	size_t value;
	size_t value_length;
};

struct record {
	size_t line; /* where the record starts in its source */
	size_t dn;
	size_t dn_length;
	char *text;
	size_t length;
	size_t capacity;
	struct pair *pairs;
	size_t count;
	size_t pairs_capacity;
};

static inline const char *record_dn(const struct record *record)
{
	return record->text + record->dn;
}

static inline const char *record_type(const struct record *record, size_t pair)
{
	return record->text + record->pairs[pair].type;
}

static inline const char *record_value(const struct record *record, size_t pair)
{
	return record->text + record->pairs[pair].value;
}

/* record_clear: empty it and keep its memory; record_free: give that back. */
void record_clear(struct record *record);
void record_free(struct record *record);

void record_set_dn(struct record *record, const char *dn, size_t length);
void record_add(struct record *record, const char *type, size_t type_length, const char *value,
		size_t value_length);

/* record_copy: `to`, all zero, becomes a copy with no room to spare. */
void record_copy(struct record *to, const struct record *from);

/*
 * record_rdn_value: the value of a DN's first RDN without escapes, in lower
 * case, into out[size]. Returns its length, or 0 when the DN does not start
 * with TYPE=VALUE, has a broken escape or the value does not fit.
 * *type_length is set to the length of TYPE.
 */
size_t record_rdn_value(const char *dn, size_t length, size_t *type_length, char *out, size_t size);

/* record_rdn_end: the length of a DN's first RDN. */
size_t record_rdn_end(const char *dn, size_t length);

/* What fits into an entry: the sources report what does not. */
#define ATTRIBUTE_TYPE_MAX 95
#define DN_MAX_LENGTH 1000
#define NAME_MAX_LENGTH 256

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
	struct line line; /* the current logical line */
	char *ahead; /* the physical line after it */
	size_t ahead_size;
	long ahead_length; /* -1 at the end */
	size_t ahead_number;
	bool started; /* LDIF: the first line may have the version */
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

/* dpkg_next: the same for the package catalogue alone. */
enum source_status dpkg_next(struct source *source, struct record *record);
