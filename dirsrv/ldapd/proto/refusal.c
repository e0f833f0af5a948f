/* SPDX-License-Identifier: MIT */
/* Short responses without memory: every length fits into one byte. */
#include "proto/response.h"

#include <ldap.h>
#include <string.h>

#define TAG_SEQUENCE 0x30
#define TAG_INTEGER 0x02
#define TAG_ENUMERATED 0x0a
#define TAG_STRING 0x04
#define TAG_NAME 0x8a /* responseName of an extended response */

struct writer {
	unsigned char *p;
	size_t length;
};

static void put(struct writer *writer, unsigned byte)
{
	writer->p[writer->length++] = (unsigned char)byte;
}

static void put_string(struct writer *writer, unsigned tag, const char *text)
{
	size_t length = strlen(text);

	put(writer, tag);
	put(writer, (unsigned)length);
	memcpy(writer->p + writer->length, text, length);
	writer->length += length;
}

/* Begin an element whose length put_end() fills in. */
static size_t put_begin(struct writer *writer, unsigned tag)
{
	put(writer, tag);
	put(writer, 0);
	return writer->length;
}

static void put_end(struct writer *writer, size_t begin)
{
	writer->p[begin - 1] = (unsigned char)(writer->length - begin);
}

/* A number of up to 31 bits in its fewest bytes; the first bit is the sign. */
static void put_number(struct writer *writer, uint32_t number)
{
	int shift = 24;
	size_t begin = put_begin(writer, TAG_INTEGER);

	while (shift && number >> (shift - 1) == 0)
		shift -= 8;
	for (; shift >= 0; shift -= 8)
		put(writer, number >> shift & 0xff);
	put_end(writer, begin);
}

static size_t encode(void *to, uint32_t message_id, uint32_t tag, int code, const char *message,
		     const char *name)
{
	struct writer writer = {.p = to};
	size_t outer, inner;

	/* 2 + 2 + 4 bytes to the id, 2 for the operation, 3 + 2 + 2 before the message, 2 of the
	 * name. */
	if (strlen(message) + (name ? strlen(name) : 0) + 19 > RESPONSE_REFUSAL_MAX)
		return 0;
	outer = put_begin(&writer, TAG_SEQUENCE);
	put_number(&writer, message_id);
	inner = put_begin(&writer, tag);
	put(&writer, TAG_ENUMERATED);
	put(&writer, 1);
	put(&writer, (unsigned)code);
	put_string(&writer, TAG_STRING, "");
	put_string(&writer, TAG_STRING, message);
	if (name)
		put_string(&writer, TAG_NAME, name);
	put_end(&writer, inner);
	put_end(&writer, outer);
	return writer.length;
}

size_t response_refusal(void *to, uint32_t message_id, uint32_t tag, int code, const char *message)
{
	return encode(to, message_id, tag, code, message, NULL);
}

size_t response_notice(void *to, int code, const char *message)
{
	return encode(to, 0, LDAP_RES_EXTENDED, code, message, LDAP_NOTICE_OF_DISCONNECTION);
}
