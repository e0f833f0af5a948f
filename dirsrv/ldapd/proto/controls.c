/* SPDX-License-Identifier: MIT */
/* Decoding the controls of a request. An unknown control matters only if it is critical. */
#include "proto/internal.h"

#include <ldap.h>

/* The value of a control is an OCTET STRING with BER in it, which is entered like a
 * constructed element. */
static bool decode_paged(struct decoder *decoder)
{
	struct request_controls *controls = &decoder->request->controls;
	struct reader *reader = &decoder->reader;
	size_t value, outer;

	return reader_enter(reader, LBER_OCTETSTRING, &value) &&
	       reader_enter(reader, LBER_SEQUENCE, &outer) &&
	       reader_number(reader, LBER_INTEGER, &controls->page_size) &&
	       reader_bytes(reader, LBER_OCTETSTRING, &controls->cookie) &&
	       reader_leave(reader, outer) && reader_leave(reader, value);
}

/* The value of a control that has none, or that the server does not know. */
static bool skip_value(struct decoder *decoder)
{
	struct dirsrv_bytes value;

	return !reader_more(&decoder->reader) ||
	       reader_bytes(&decoder->reader, LBER_OCTETSTRING, &value);
}

static bool decode_value(struct decoder *decoder, struct dirsrv_bytes type, bool critical)
{
	struct request_controls *controls = &decoder->request->controls;
	bool search = decoder->request->tag == LDAP_REQ_SEARCH;

	if (search && request_bytes_equal(type, LDAP_CONTROL_PAGEDRESULTS)) {
		controls->present |= CONTROL_PAGED;
		return decode_paged(decoder);
	}
	if (request_bytes_equal(type, LDAP_CONTROL_MANAGEDSAIT))
		controls->present |= CONTROL_MANAGE_DSA_IT;
	else if (critical)
		decode_refuse(decoder, LDAP_UNAVAILABLE_CRITICAL_EXTENSION,
			      "a critical control is not supported");
	return skip_value(decoder);
}

static bool decode_control(struct decoder *decoder)
{
	struct reader *reader = &decoder->reader;
	struct dirsrv_bytes type;
	bool critical = false;
	size_t outer;

	return reader_enter(reader, LBER_SEQUENCE, &outer) &&
	       reader_bytes(reader, LBER_OCTETSTRING, &type) &&
	       (reader_next_tag(reader) != LBER_BOOLEAN ||
		reader_boolean(reader, LBER_BOOLEAN, &critical)) &&
	       decode_value(decoder, type, critical) && reader_leave(reader, outer);
}

bool decode_controls(struct decoder *decoder)
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
