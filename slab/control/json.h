/* SPDX-License-Identifier: MIT */
/*
 * A JSON emitter for the control socket.
 *
 * It appends to a buffer from mmap(), since the library must not call malloc; the child of a
 * fork does not inherit the buffer. Without memory, the document is marked as failed, and
 * further calls do nothing.
 *
 * `key` is the member's name inside an object, NULL inside an array.
 */
#pragma once

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

/* slab_json_open: begin an object or array; `bracket` is '{' or '['. slab_json_close: end it;
 * `bracket` is '}' or ']'. */
void slab_json_open(struct slab_json *json, const char *key, char bracket);
void slab_json_close(struct slab_json *json, char bracket);

void slab_json_string(struct slab_json *json, const char *key, const char *value);
void slab_json_number(struct slab_json *json, const char *key, uint64_t value);
void slab_json_bool(struct slab_json *json, const char *key, bool value);

/* slab_json_newline: end the document's line. */
void slab_json_newline(struct slab_json *json);

/* slab_json_room: append bytes, which the caller fills in. NULL: there is no memory. */
void *slab_json_room(struct slab_json *json, size_t bytes);

/* slab_json_end: terminate the text with a zero, which `len` does not include. */
void slab_json_end(struct slab_json *json);

/* slab_json_free: free the buffer and leave an empty document. */
void slab_json_free(struct slab_json *json);
