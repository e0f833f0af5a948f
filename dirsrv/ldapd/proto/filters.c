/* SPDX-License-Identifier: MIT */
/* Decoding search filters (RFC 4511, 4.5.1.7), up to a depth and a number of terms. */
#include "proto/internal.h"

#include <ldap.h>

#define TOO_LARGE "the filter is too deep or has too many terms"

/* and, or: a SET of filters; a SET that is empty is true or false (RFC 4526). */
static bool decode_set(struct decoder *decoder, ber_tag_t tag, struct filter *filter,
		       unsigned depth)
{
	struct filter **next = &filter->children;
	size_t outer;

	if (!reader_enter(&decoder->reader, tag, &outer))
		return false;
	while (reader_more(&decoder->reader)) {
		if (!decode_filter(decoder, next, depth))
			return false;
		next = &(*next)->next;
	}
	return reader_leave(&decoder->reader, outer);
}

static bool decode_not(struct decoder *decoder, struct filter *filter, unsigned depth)
{
	size_t outer;

	return reader_enter(&decoder->reader, LDAP_FILTER_NOT, &outer) &&
	       decode_filter(decoder, &filter->children, depth) &&
	       reader_leave(&decoder->reader, outer);
}

static bool decode_assertion(struct decoder *decoder, ber_tag_t tag, struct filter *filter)
{
	size_t outer;

	return reader_enter(&decoder->reader, tag, &outer) &&
	       reader_bytes(&decoder->reader, LBER_OCTETSTRING, &filter->type) &&
	       reader_bytes(&decoder->reader, LBER_OCTETSTRING, &filter->value) &&
	       reader_leave(&decoder->reader, outer);
}

/* Count one more term. Returns false if the filter is refused. */
static bool count_term(struct decoder *decoder)
{
	if (++decoder->terms <= REQUEST_FILTER_TERMS_MAX)
		return true;
	decode_refuse(decoder, LDAP_ADMINLIMIT_EXCEEDED, TOO_LARGE);
	return false;
}

static bool decode_any(struct decoder *decoder, struct filter_part ***end)
{
	struct filter_part *part = filter_part_new();

	if (!part) {
		decoder->no_memory = true;
		return false;
	}
	**end = part;
	*end = &part->next;
	return reader_bytes(&decoder->reader, LDAP_SUBSTRING_ANY, &part->value);
}

/* initial comes first, final comes last, and each at most once. */
static bool decode_parts(struct decoder *decoder, struct filter *filter)
{
	struct filter_part **any = &filter->any;
	bool first = true, last = false;

	while (reader_more(&decoder->reader)) {
		ber_tag_t tag = reader_next_tag(&decoder->reader);

		if (last || !count_term(decoder))
			return false;
		if (tag == LDAP_SUBSTRING_INITIAL && first) {
			if (!reader_bytes(&decoder->reader, tag, &filter->value))
				return false;
		} else if (tag == LDAP_SUBSTRING_ANY) {
			if (!decode_any(decoder, &any))
				return false;
		} else if (tag == LDAP_SUBSTRING_FINAL) {
			last = true;
			if (!reader_bytes(&decoder->reader, tag, &filter->final))
				return false;
		} else {
			return false;
		}
		first = false;
	}
	return !first;
}

static bool decode_substrings(struct decoder *decoder, struct filter *filter)
{
	size_t outer, parts;

	return reader_enter(&decoder->reader, LDAP_FILTER_SUBSTRINGS, &outer) &&
	       reader_bytes(&decoder->reader, LBER_OCTETSTRING, &filter->type) &&
	       reader_enter(&decoder->reader, LBER_SEQUENCE, &parts) &&
	       decode_parts(decoder, filter) && reader_leave(&decoder->reader, parts) &&
	       reader_leave(&decoder->reader, outer);
}

/* An extensible match is Undefined for every entry: only its form is checked. */
static bool decode_extensible(struct decoder *decoder, struct filter *filter)
{
	struct reader *reader = &decoder->reader;
	struct dirsrv_bytes rule;
	bool dn;
	size_t outer;

	return reader_enter(reader, LDAP_FILTER_EXT, &outer) &&
	       (reader_next_tag(reader) != LDAP_FILTER_EXT_OID ||
		reader_bytes(reader, LDAP_FILTER_EXT_OID, &rule)) &&
	       (reader_next_tag(reader) != LDAP_FILTER_EXT_TYPE ||
		reader_bytes(reader, LDAP_FILTER_EXT_TYPE, &filter->type)) &&
	       reader_bytes(reader, LDAP_FILTER_EXT_VALUE, &filter->value) &&
	       (reader_next_tag(reader) != LDAP_FILTER_EXT_DNATTRS ||
		reader_boolean(reader, LDAP_FILTER_EXT_DNATTRS, &dn)) &&
	       reader_leave(reader, outer);
}

static bool decode_kind(struct decoder *decoder, ber_tag_t tag, struct filter *filter,
			unsigned depth)
{
	switch (filter->kind) {
	case FILTER_AND:
	case FILTER_OR:
		return decode_set(decoder, tag, filter, depth);
	case FILTER_NOT:
		return decode_not(decoder, filter, depth);
	case FILTER_SUBSTRINGS:
		return decode_substrings(decoder, filter);
	case FILTER_PRESENT:
		return reader_bytes(&decoder->reader, tag, &filter->type);
	case FILTER_EXTENSIBLE:
		return decode_extensible(decoder, filter);
	default:
		return decode_assertion(decoder, tag, filter);
	}
}

static bool kind_of(ber_tag_t tag, enum filter_kind *kind)
{
	static const struct {
		ber_tag_t tag;
		enum filter_kind kind;
	} kinds[] = {
		{LDAP_FILTER_AND, FILTER_AND},
		{LDAP_FILTER_OR, FILTER_OR},
		{LDAP_FILTER_NOT, FILTER_NOT},
		{LDAP_FILTER_EQUALITY, FILTER_EQUAL},
		{LDAP_FILTER_SUBSTRINGS, FILTER_SUBSTRINGS},
		{LDAP_FILTER_GE, FILTER_GREATER},
		{LDAP_FILTER_LE, FILTER_LESS},
		{LDAP_FILTER_PRESENT, FILTER_PRESENT},
		{LDAP_FILTER_APPROX, FILTER_APPROX},
		{LDAP_FILTER_EXT, FILTER_EXTENSIBLE},
	};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].tag == tag) {
			*kind = kinds[i].kind;
			return true;
		}
	}
	return false;
}

bool decode_filter(struct decoder *decoder, struct filter **filter, unsigned depth)
{
	ber_tag_t tag = reader_next_tag(&decoder->reader);
	enum filter_kind kind;

	if (!depth)
		decode_refuse(decoder, LDAP_ADMINLIMIT_EXCEEDED, TOO_LARGE);
	if (!depth || !count_term(decoder) || !kind_of(tag, &kind))
		return false;
	*filter = filter_new(kind);
	if (!*filter) {
		decoder->no_memory = true;
		return false;
	}
	return decode_kind(decoder, tag, *filter, depth - 1);
}
