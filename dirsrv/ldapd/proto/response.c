/* SPDX-License-Identifier: MIT */
/* Encoding responses: with liblber; short ones without memory. */
#include "proto/response.h"

#include <slab/malloc.h>

#include <lber.h>

static _Thread_local struct {
	BerElement *ber;
	bool failed;
} encoder;

/* liblber calls these for elements that have a context. */
static void *encoder_malloc(ber_len_t size, void *context)
{
	(void)context;
	return slab_malloc(size);
}

static void *encoder_calloc(ber_len_t n, ber_len_t size, void *context)
{
	(void)context;
	return slab_calloc(n, size);
}

static void *encoder_realloc(void *old, ber_len_t size, void *context)
{
	(void)context;
	return slab_realloc(old, size);
}

static void encoder_free(void *old, void *context)
{
	(void)context;
	slab_mfree(old);
}

void response_start(void)
{
	static BerMemoryFunctions functions = {encoder_malloc, encoder_calloc, encoder_realloc,
					       encoder_free};

	ber_set_option(NULL, LBER_OPT_MEMORY_FNS, &functions);
}

/* The buffer of the last message goes back, and the element is empty. */
static BerElement *begin(void)
{
	static char context;
	void *pointer = &context;

	encoder.failed = false;
	if (!encoder.ber)
		encoder.ber = ber_alloc_t(LBER_USE_DER);
	else
		ber_free_buf(encoder.ber);
	if (!encoder.ber) {
		encoder.failed = true;
		return NULL;
	}
	ber_init2(encoder.ber, NULL, LBER_USE_DER);
	ber_set_option(encoder.ber, LBER_OPT_BER_MEMCTX, &pointer);
	return encoder.ber;
}

void response_thread_end(void)
{
	void *none = NULL;

	if (!encoder.ber)
		return;
	ber_free_buf(encoder.ber);
	ber_init2(encoder.ber, NULL, LBER_USE_DER);
	/* The element itself is not of slab_malloc(). */
	ber_set_option(encoder.ber, LBER_OPT_BER_MEMCTX, &none);
	ber_free(encoder.ber, 0);
	encoder.ber = NULL;
}

/* Note a failure of ber_printf() and its kin. */
static void check(int result)
{
	if (result == -1)
		encoder.failed = true;
}

static struct dirsrv_bytes finish(void)
{
	struct berval bytes = {0};

	if (encoder.failed || ber_flatten2(encoder.ber, &bytes, 0) == -1)
		return (struct dirsrv_bytes){0};
	return (struct dirsrv_bytes){.data = bytes.bv_val, .length = bytes.bv_len};
}

uint32_t response_tag(uint32_t request_tag)
{
	switch (request_tag) {
	case LDAP_REQ_BIND:
		return LDAP_RES_BIND;
	case LDAP_REQ_SEARCH:
		return LDAP_RES_SEARCH_RESULT;
	case LDAP_REQ_MODIFY:
		return LDAP_RES_MODIFY;
	case LDAP_REQ_ADD:
		return LDAP_RES_ADD;
	case LDAP_REQ_DELETE:
		return LDAP_RES_DELETE;
	case LDAP_REQ_MODRDN:
		return LDAP_RES_MODRDN;
	case LDAP_REQ_COMPARE:
		return LDAP_RES_COMPARE;
	case LDAP_REQ_EXTENDED:
		return LDAP_RES_EXTENDED;
	default:
		return 0;
	}
}

struct dirsrv_bytes response_encode(const struct response *response)
{
	BerElement *ber = begin();

	if (!ber)
		return (struct dirsrv_bytes){0};
	check(ber_printf(ber, "{it{ess", (ber_int_t)response->message_id, (ber_tag_t)response->tag,
			 (ber_int_t)response->code, response->matched ? response->matched : "",
			 response->message ? response->message : ""));
	if (response->name)
		check(ber_printf(ber, "ts", LDAP_TAG_EXOP_RES_OID, response->name));
	if (response->value.data)
		check(ber_printf(ber, "to", LDAP_TAG_EXOP_RES_VALUE, response->value.data,
				 (ber_len_t)response->value.length));
	check(ber_printf(ber, "N}"));
	check(ber_printf(ber, "N}"));
	return finish();
}

void response_entry_begin(uint32_t message_id, const char *dn, size_t length)
{
	BerElement *ber = begin();

	if (ber)
		check(ber_printf(ber, "{it{o{", (ber_int_t)message_id,
				 (ber_tag_t)LDAP_RES_SEARCH_ENTRY, dn, (ber_len_t)length));
}

void response_attribute_begin(const char *type, size_t length)
{
	if (!encoder.failed)
		check(ber_printf(encoder.ber, "{o[", type, (ber_len_t)length));
}

void response_value(struct dirsrv_bytes value)
{
	if (!encoder.failed)
		check(ber_put_ostring(encoder.ber, value.data, value.length, LBER_OCTETSTRING));
}

void response_attribute_end(void)
{
	if (!encoder.failed)
		check(ber_printf(encoder.ber, "]N}"));
}

struct dirsrv_bytes response_entry_end(void)
{
	if (!encoder.failed)
		check(ber_printf(encoder.ber, "N}N}N}"));
	return finish();
}

/* --- short responses without memory: every length fits into one byte ------------------------ */

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

static size_t encode_short(void *to, uint32_t message_id, uint32_t tag, int code,
			   const char *message, const char *name)
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
	return encode_short(to, message_id, tag, code, message, NULL);
}

size_t response_notice(void *to, int code, const char *message)
{
	return encode_short(to, 0, LDAP_RES_EXTENDED, code, message, LDAP_NOTICE_OF_DISCONNECTION);
}
