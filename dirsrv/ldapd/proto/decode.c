/* SPDX-License-Identifier: MIT */
/* Decoding requests: the envelope, operations, controls. */
#include "proto/internal.h"

#include "base/memory.h"

#include <slab/malloc.h>

bool request_bytes_equal(struct dirsrv_bytes bytes, const char *text)
{
	return bytes.length == strlen(text) && strncasecmp(bytes.data, text, bytes.length) == 0;
}

/* --- controls: an unknown one matters only if it is critical -------------------------------- */

static bool decode_control(struct decoder *decoder)
{
	struct reader *reader = &decoder->reader;
	struct dirsrv_bytes type, value;
	bool critical = false;
	size_t outer;

	if (!reader_enter(reader, LBER_SEQUENCE, &outer) ||
	    !reader_bytes(reader, LBER_OCTETSTRING, &type) ||
	    (reader_next_tag(reader) == LBER_BOOLEAN &&
	     !reader_boolean(reader, LBER_BOOLEAN, &critical)) ||
	    (reader_more(reader) && !reader_bytes(reader, LBER_OCTETSTRING, &value)))
		return false;
	/* RFC 3296: there are no referrals to follow. */
	if (critical && !request_bytes_equal(type, LDAP_CONTROL_MANAGEDSAIT))
		decode_refuse(decoder, LDAP_UNAVAILABLE_CRITICAL_EXTENSION,
			      "a critical control is not supported");
	return reader_leave(reader, outer);
}

static bool decode_controls(struct decoder *decoder)
{
	unsigned count = 0;
	size_t outer;

	if (!reader_enter(&decoder->reader, LDAP_TAG_CONTROLS, &outer))
		return false;
	while (reader_more(&decoder->reader)) {
		if (count++ == REQUEST_CONTROLS_MAX || !decode_control(decoder))
			return false;
	}
	return reader_leave(&decoder->reader, outer);
}

/* --- messages and operations ---------------------------------------------------------------- */

#define TAG_MESSAGE ((ber_tag_t)0x30) /* the SEQUENCE of a message */
#define TAG_CONTEXT(n) ((ber_tag_t)(0x80 + (n)))

/* So that a full server can still decode what a client asks for, and refuse it by name. */
#define REQUEST_RESERVE 16

static struct slab_cache *requests;

int request_start(void)
{
	const struct slab_cache_args args = {.reserve = REQUEST_RESERVE};

	requests = slab_cache_create("ldapd.request", sizeof(struct request), &args, 0);
	return requests ? 0 : -errno;
}

int request_stop(void)
{
	return cache_stop(&requests);
}

long request_frame(const void *data, size_t available, size_t max)
{
	const unsigned char *p = data;
	size_t header = 2, length, octets;

	if (available && p[0] != TAG_MESSAGE)
		return -1;
	if (available < 2)
		return 0;
	length = p[1];
	if (length & 0x80) {
		octets = length & 0x7f;
		if (!octets || octets > 4)
			return -1;
		if (available < 2 + octets)
			return 0;
		length = 0;
		for (size_t i = 0; i < octets; i++)
			length = length << 8 | p[2 + i];
		header += octets;
	}
	return header + length > max ? -1 : (long)(header + length);
}

static bool decode_bind(struct decoder *decoder)
{
	struct bind_request *bind = &decoder->request->bind;
	struct reader *reader = &decoder->reader;
	struct dirsrv_bytes mechanism;
	size_t outer;

	if (!reader_number(reader, LBER_INTEGER, &bind->version) ||
	    !reader_bytes(reader, LBER_OCTETSTRING, &bind->dn))
		return false;
	bind->simple = reader_next_tag(reader) == LDAP_AUTH_SIMPLE;
	if (bind->simple)
		return reader_bytes(reader, LDAP_AUTH_SIMPLE, &bind->credentials);
	if (!reader_enter(reader, LDAP_AUTH_SASL, &outer) ||
	    !reader_bytes(reader, LBER_OCTETSTRING, &mechanism))
		return false;
	if (reader_more(reader) && !reader_bytes(reader, LBER_OCTETSTRING, &bind->credentials))
		return false;
	return reader_leave(reader, outer);
}

static bool decode_attributes(struct decoder *decoder)
{
	struct search_request *search = &decoder->request->search;
	struct array array = {.max = REQUEST_ATTRIBUTES_MAX};
	size_t outer;
	bool good = reader_enter(&decoder->reader, LBER_SEQUENCE, &outer);

	while (good && reader_more(&decoder->reader)) {
		struct dirsrv_bytes *attribute = array_add(decoder, &array, sizeof(*attribute));

		good = attribute && reader_bytes(&decoder->reader, LBER_OCTETSTRING, attribute);
	}
	search->attributes = array.items;
	search->attribute_count = array.count;
	return good && reader_leave(&decoder->reader, outer);
}

static bool decode_search(struct decoder *decoder)
{
	struct search_request *search = &decoder->request->search;
	struct reader *reader = &decoder->reader;
	uint32_t scope, deref;

	if (!reader_bytes(reader, LBER_OCTETSTRING, &search->base) ||
	    !reader_number(reader, LBER_ENUMERATED, &scope) ||
	    !reader_number(reader, LBER_ENUMERATED, &deref) ||
	    !reader_number(reader, LBER_INTEGER, &search->size_limit) ||
	    !reader_number(reader, LBER_INTEGER, &search->time_limit) ||
	    !reader_boolean(reader, LBER_BOOLEAN, &search->types_only) ||
	    scope > LDAP_SCOPE_SUBORDINATE || deref > LDAP_DEREF_ALWAYS)
		return false;
	search->scope = (int)scope;
	return decode_filter(decoder, &search->filter, REQUEST_FILTER_DEPTH_MAX) &&
	       decode_attributes(decoder);
}

static bool decode_compare(struct decoder *decoder)
{
	struct compare_request *compare = &decoder->request->compare;
	struct reader *reader = &decoder->reader;
	size_t outer;

	return reader_bytes(reader, LBER_OCTETSTRING, &compare->dn) &&
	       reader_enter(reader, LBER_SEQUENCE, &outer) &&
	       reader_bytes(reader, LBER_OCTETSTRING, &compare->type) &&
	       reader_bytes(reader, LBER_OCTETSTRING, &compare->value) &&
	       reader_leave(reader, outer);
}

/* The server renames no entry: only the form is checked. */
static bool decode_modrdn(struct decoder *decoder)
{
	struct reader *reader = &decoder->reader;
	struct dirsrv_bytes rdn, superior;
	bool delete_old;

	return reader_bytes(reader, LBER_OCTETSTRING, &decoder->request->modrdn_dn) &&
	       reader_bytes(reader, LBER_OCTETSTRING, &rdn) &&
	       reader_boolean(reader, LBER_BOOLEAN, &delete_old) &&
	       (reader_next_tag(reader) != LDAP_TAG_NEWSUPERIOR ||
		reader_bytes(reader, LDAP_TAG_NEWSUPERIOR, &superior));
}

static bool decode_extended(struct decoder *decoder)
{
	struct extended_request *extended = &decoder->request->extended;
	struct reader *reader = &decoder->reader;

	if (!reader_bytes(reader, LDAP_TAG_EXOP_REQ_OID, &extended->name))
		return false;
	return reader_next_tag(reader) != LDAP_TAG_EXOP_REQ_VALUE ||
	       reader_bytes(reader, LDAP_TAG_EXOP_REQ_VALUE, &extended->value);
}

/* Operations that are a SEQUENCE, except modify and add, which are in changes.c. */
static bool decode_sequence(struct decoder *decoder)
{
	size_t outer;
	bool good;

	if (!reader_enter(&decoder->reader, decoder->request->tag, &outer))
		return false;
	switch (decoder->request->tag) {
	case LDAP_REQ_BIND:
		good = decode_bind(decoder);
		break;
	case LDAP_REQ_SEARCH:
		good = decode_search(decoder);
		break;
	case LDAP_REQ_COMPARE:
		good = decode_compare(decoder);
		break;
	case LDAP_REQ_ADD:
		good = decode_add(decoder);
		break;
	case LDAP_REQ_MODIFY:
		good = decode_modify(decoder);
		break;
	case LDAP_REQ_MODRDN:
		good = decode_modrdn(decoder);
		break;
	default:
		good = decode_extended(decoder);
	}
	return good && reader_leave(&decoder->reader, outer);
}

static bool decode_operation(struct decoder *decoder)
{
	struct request *request = decoder->request;
	struct dirsrv_bytes nothing;

	switch (request->tag) {
	case LDAP_REQ_UNBIND:
		return reader_bytes(&decoder->reader, LDAP_REQ_UNBIND, &nothing);
	case LDAP_REQ_DELETE:
		return reader_bytes(&decoder->reader, LDAP_REQ_DELETE, &request->delete_dn);
	case LDAP_REQ_ABANDON:
		return reader_number(&decoder->reader, LDAP_REQ_ABANDON, &request->abandon_id);
	default:
		return decode_sequence(decoder);
	}
}

static bool is_request_tag(ber_tag_t tag)
{
	switch (tag) {
	case LDAP_REQ_BIND:
	case LDAP_REQ_UNBIND:
	case LDAP_REQ_SEARCH:
	case LDAP_REQ_MODIFY:
	case LDAP_REQ_ADD:
	case LDAP_REQ_DELETE:
	case LDAP_REQ_MODRDN:
	case LDAP_REQ_COMPARE:
	case LDAP_REQ_ABANDON:
	case LDAP_REQ_EXTENDED:
		return true;
	default:
		return false;
	}
}

/* The operation and the controls, in the SEQUENCE of the message. */
static void decode_body(struct decoder *decoder, size_t outer)
{
	bool good = decode_operation(decoder);

	if (good && reader_next_tag(&decoder->reader) == LDAP_TAG_CONTROLS)
		good = decode_controls(decoder);
	if (good)
		good = reader_leave(&decoder->reader, outer);
	if (!good && !decoder->no_memory)
		decode_refuse(decoder, LDAP_PROTOCOL_ERROR, "malformed request");
}

enum request_status request_decode(void *data, size_t length, struct request **request,
				   uint32_t *message_id, uint32_t *tag)
{
	struct decoder decoder = {0};
	size_t outer;
	ber_tag_t operation;

	*message_id = *tag = 0;
	if (!reader_start(&decoder.reader, data, length))
		return REQUEST_NO_MEMORY;
	if (!reader_enter(&decoder.reader, TAG_MESSAGE, &outer) ||
	    !reader_number(&decoder.reader, LBER_INTEGER, message_id))
		return REQUEST_MALFORMED;
	operation = reader_next_tag(&decoder.reader);
	if (!is_request_tag(operation) || !*message_id)
		return REQUEST_MALFORMED;
	*tag = (uint32_t)operation;
	decoder.request = slab_zalloc(requests);
	if (!decoder.request)
		return REQUEST_NO_MEMORY;
	decoder.request->message_id = *message_id;
	decoder.request->tag = *tag;
	decode_body(&decoder, outer);
	if (decoder.no_memory) {
		request_free(decoder.request);
		return REQUEST_NO_MEMORY;
	}
	*request = decoder.request;
	return REQUEST_DECODED;
}

void request_free(struct request *request)
{
	if (!request)
		return;
	switch (request->tag) {
	case LDAP_REQ_SEARCH:
		filter_free(request->search.filter);
		slab_mfree(request->search.attributes);
		break;
	case LDAP_REQ_ADD:
		slab_mfree(request->add.pairs);
		break;
	case LDAP_REQ_MODIFY:
		slab_mfree(request->modify.items);
		slab_mfree(request->modify.values);
		break;
	default:
		break;
	}
	slab_free(requests, request);
}

struct dirsrv_bytes request_dn(const struct request *request)
{
	switch (request->tag) {
	case LDAP_REQ_BIND:
		return request->bind.dn;
	case LDAP_REQ_SEARCH:
		return request->search.base;
	case LDAP_REQ_COMPARE:
		return request->compare.dn;
	case LDAP_REQ_ADD:
		return request->add.dn;
	case LDAP_REQ_DELETE:
		return request->delete_dn;
	case LDAP_REQ_MODIFY:
		return request->modify.dn;
	case LDAP_REQ_MODRDN:
		return request->modrdn_dn;
	default:
		return (struct dirsrv_bytes){.data = ""};
	}
}
