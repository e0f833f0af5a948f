/* SPDX-License-Identifier: MIT */
/* Growing buffers; the end of the program when there is no memory. */
#include "buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 1024

void load_fail(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	fputs("ldapload: ", stderr);
	vfprintf(stderr, format, list);
	fputc('\n', stderr);
	va_end(list);
	exit(EXIT_FAILURE);
}

char *buffer_reserve(struct buffer *buffer, size_t more)
{
	size_t capacity = buffer->capacity ? buffer->capacity : CAPACITY_MIN;

	while (capacity < buffer->length + more)
		capacity *= 2;
	if (capacity != buffer->capacity) {
		char *bytes = realloc(buffer->bytes, capacity);

		if (!bytes)
			load_fail("there is no memory for %zu bytes", capacity);
		buffer->bytes = bytes;
		buffer->capacity = capacity;
	}
	return buffer->bytes + buffer->length;
}

void buffer_append(struct buffer *buffer, const char *bytes, size_t length)
{
	memcpy(buffer_reserve(buffer, length), bytes, length);
	buffer->length += length;
}

void buffer_consume(struct buffer *buffer, size_t length)
{
	buffer->length -= length;
	if (length != 0 && buffer->length != 0)
		memmove(buffer->bytes, buffer->bytes + length, buffer->length);
}

void buffer_free(struct buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct buffer){0};
}
