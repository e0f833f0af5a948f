/* SPDX-License-Identifier: MIT */
/*
 * Bytes that grow, from slab_malloc(). A buffer that is all zero is empty. When memory runs out,
 * the buffer remembers it and ignores what is added, so that a caller checks once.
 */
#ifndef LDAPD_BASE_BUFFER_H
#define LDAPD_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer {
	char *data;
	size_t length;
	size_t capacity;
	bool failed; /* no memory: the contents are not complete */
};

/* buffer_reserve: room for `more` bytes behind the contents, or NULL. The caller writes there and
 * increases `length`. */
char *buffer_reserve(struct buffer *buffer, size_t more);

void buffer_append(struct buffer *buffer, const void *data, size_t length);
void buffer_byte(struct buffer *buffer, char byte);
void buffer_text(struct buffer *buffer, const char *text);

/* buffer_clear: empty it and keep its memory; buffer_free: free the memory. */
void buffer_clear(struct buffer *buffer);
void buffer_free(struct buffer *buffer);

#endif /* LDAPD_BASE_BUFFER_H */
