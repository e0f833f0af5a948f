/* SPDX-License-Identifier: MIT */
/* Writing protocol buffers (protobuf.h). */
#include "protobuf.h"

/* The low bits of a field's key. */
enum wire_type { VARINT = 0, LENGTH = 2 };

#define VARINT_MAX 10u

static void put_bytes(struct protobuf *message, const void *bytes, size_t size)
{
	if (message->room - message->size < size) {
		size_t room = 2 * (message->room + size);
		unsigned char *larger = message->failed ? NULL : realloc(message->bytes, room);

		if (!larger) {
			message->failed = true;
			return;
		}
		message->bytes = larger;
		message->room = room;
	}
	if (size)
		memcpy(message->bytes + message->size, bytes, size);
	message->size += size;
}

/* Seven bits a byte, the lowest first; the highest bit says that more bytes follow. */
static size_t make_varint(unsigned char varint[VARINT_MAX], uint64_t number)
{
	size_t size = 0;

	for (; number >= 0x80; number >>= 7)
		varint[size++] = (unsigned char)(number | 0x80);
	varint[size++] = (unsigned char)number;
	return size;
}

static void put_varint(struct protobuf *message, uint64_t number)
{
	unsigned char varint[VARINT_MAX];

	put_bytes(message, varint, make_varint(varint, number));
}

static void put_key(struct protobuf *message, unsigned field, enum wire_type type)
{
	put_varint(message, (uint64_t)field << 3 | type);
}

static void put_field(struct protobuf *message, unsigned field, const void *bytes, size_t size)
{
	put_key(message, field, LENGTH);
	put_varint(message, size);
	put_bytes(message, bytes, size);
}

void protobuf_free(struct protobuf *message)
{
	free(message->bytes);
	*message = (struct protobuf){0};
}

void protobuf_number(struct protobuf *message, unsigned field, uint64_t number)
{
	if (!number)
		return;
	put_key(message, field, VARINT);
	put_varint(message, number);
}

void protobuf_numbers(struct protobuf *message, unsigned field, const uint64_t *number,
		      size_t count)
{
	unsigned char varint[VARINT_MAX];
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += make_varint(varint, number[i]);
	put_key(message, field, LENGTH);
	put_varint(message, size);
	for (size_t i = 0; i < count; i++)
		put_varint(message, number[i]);
}

void protobuf_text(struct protobuf *message, unsigned field, const char *text)
{
	put_field(message, field, text, strlen(text));
}

void protobuf_message(struct protobuf *message, unsigned field, struct protobuf *part)
{
	put_field(message, field, part->bytes, part->size);
	message->failed |= part->failed;
	part->size = 0;
}
