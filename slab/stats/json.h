/* SPDX-License-Identifier: MIT */
/*
 * A JSON emitter for the control socket.
 *
 * It appends to a buffer that comes from mmap(), because the library must not
 * call malloc, and that a fork's child does not inherit. When memory runs out
 * the document is marked failed and everything else about it is ignored.
 *
 * `key` is the member's name inside an object, NULL inside an array.
 */
#ifndef SLAB_STATS_JSON_H
#define SLAB_STATS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slab_json { /* all zero is an empty document */
	char *text;
	size_t len;
	size_t capacity;
	bool comma; /* the next value needs one */
	bool failed;
};

/* slab_json_open, slab_json_close: bracket is one of "{[" and "}]". */
void slab_json_open(struct slab_json *json, const char *key, char bracket);
void slab_json_close(struct slab_json *json, char bracket);

void slab_json_string(struct slab_json *json, const char *key, const char *value);
void slab_json_number(struct slab_json *json, const char *key, uint64_t value);
void slab_json_signed(struct slab_json *json, const char *key, int64_t value);
void slab_json_bool(struct slab_json *json, const char *key, bool value);

/* slab_json_newline: ends the document's line. */
void slab_json_newline(struct slab_json *json);

/* slab_json_end: a zero behind the text, which is not counted. */
void slab_json_end(struct slab_json *json);

/* slab_json_free: gives the buffer back and leaves an empty document. */
void slab_json_free(struct slab_json *json);

#endif /* SLAB_STATS_JSON_H */
