/* SPDX-License-Identifier: MIT */
/* Growing buffers. */
#include "base/buffer.h"

#include <slab/malloc.h>
#include <string.h>

#define LEAST_BYTES 64

char *buffer_reserve(struct buffer *buffer, size_t more)
{
	size_t wanted = buffer->capacity ? buffer->capacity : LEAST_BYTES;
	char *grown;

	if (buffer->failed)
		return NULL;
	if (buffer->capacity - buffer->length >= more)
		return buffer->data + buffer->length;
	while (wanted - buffer->length < more)
		wanted *= 2;
	grown = slab_realloc(buffer->data, wanted);
	if (!grown) {
		buffer->failed = true;
		return NULL;
	}
	buffer->data = grown;
	buffer->capacity = wanted;
	return grown + buffer->length;
}

void buffer_append(struct buffer *buffer, const void *data, size_t length)
{
	char *to = length ? buffer_reserve(buffer, length) : NULL;

	if (!to)
		return;
	memcpy(to, data, length);
	buffer->length += length;
}

void buffer_byte(struct buffer *buffer, char byte)
{
	buffer_append(buffer, &byte, 1);
}

void buffer_text(struct buffer *buffer, const char *text)
{
	buffer_append(buffer, text, strlen(text));
}

void buffer_clear(struct buffer *buffer)
{
	buffer->length = 0;
	buffer->failed = false;
}

void buffer_free(struct buffer *buffer)
{
	slab_mfree(buffer->data);
	memset(buffer, 0, sizeof(*buffer));
}
