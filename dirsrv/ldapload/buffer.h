/* SPDX-License-Identifier: MIT */
/* Bytes that grow at their end and go from their beginning. */
#ifndef LDAPLOAD_BUFFER_H
#define LDAPLOAD_BUFFER_H

#include <stddef.h>

struct buffer {
	char *bytes;
	size_t length, capacity;
};

/* load_fail: print one line "ldapload: …" and end the program with status 1. */
void load_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* buffer_reserve: room for `more` bytes at the end. Ends the program if there is no memory. */
char *buffer_reserve(struct buffer *buffer, size_t more);

/* buffer_append: a copy at the end. */
void buffer_append(struct buffer *buffer, const char *bytes, size_t length);

/* buffer_consume: the first bytes go. */
void buffer_consume(struct buffer *buffer, size_t length);

void buffer_free(struct buffer *buffer);

#endif /* LDAPLOAD_BUFFER_H */
