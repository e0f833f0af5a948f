/* SPDX-License-Identifier: MIT */
/*
 * Writing protocol buffers: fields with numbers, and messages in messages
 * (protobuf.dev/programming-guides/encoding).
 */
#pragma once

#include "posix.h"

/* A message that is being written. All zero: empty. */
struct protobuf {
	unsigned char *bytes;
	size_t size, room;
	bool failed; /* no memory; further fields are ignored */
};

void protobuf_free(struct protobuf *message);

/* A field of the types int64, uint64 and bool. The format leaves out a field that is 0; so does the
 * function. */
void protobuf_number(struct protobuf *message, unsigned field, uint64_t number);
/* A repeated field of these types, in its packed form. */
void protobuf_numbers(struct protobuf *message, unsigned field, const uint64_t *number,
		      size_t count);
/* A field of the types string and bytes. Texts of a repeated field may be empty. */
void protobuf_text(struct protobuf *message, unsigned field, const char *text);
/* A message as a field. The function empties `part`, which keeps its room. */
void protobuf_message(struct protobuf *message, unsigned field, struct protobuf *part);
