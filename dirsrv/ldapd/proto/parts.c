/* SPDX-License-Identifier: MIT */
/* Parts of requests: elements of BER, filters, lists of attributes with values. */
#include "proto/internal.h"
#include "proto/request.h"

#include "base/memory.h"

#include <slab/malloc.h>

/* --- elements: bounds of nested ones over liblber ------------------------------------------- */

static _Thread_local BerElement *own;

bool reader_start(struct reader *reader, void *data, size_t length)
{
	struct berval bytes = {.bv_val = data, .bv_len = length};

	if (!own)
		own = ber_alloc_t(0);
	if (!own)
		return false;
	ber_init2(own, &bytes, 0);
	*reader = (struct reader){.ber = own};
	return true;
}

void request_thread_end(void)
{
	if (own)
		ber_free(own, 0);
	own = NULL;
}

static size_t remaining(const struct reader *reader)
{
	int bytes = ber_remaining(reader->ber);

	return bytes > 0 ? (size_t)bytes : 0;
}

bool reader_more(const struct reader *reader)
{
	return remaining(reader) > reader->end;
}

ber_tag_t reader_next_tag(const struct reader *reader)
{
	ber_len_t length;

	return reader_more(reader) ? ber_peek_tag(reader->ber, &length) : LBER_DEFAULT;
}

bool reader_enter(struct reader *reader, ber_tag_t tag, size_t *outer)
{
	ber_len_t length;
	size_t left;

	if (!reader_more(reader) || ber_skip_tag(reader->ber, &length) != tag)
		return false;
	left = remaining(reader);
	if (left < reader->end || length > left - reader->end)
		return false;
	*outer = reader->end;
	reader->end = left - length;
	return true;
}

bool reader_leave(struct reader *reader, size_t outer)
{
	bool complete = remaining(reader) == reader->end;

	reader->end = outer;
	return complete;
}

bool reader_bytes(struct reader *reader, ber_tag_t tag, struct dirsrv_bytes *bytes)
{
	struct berval value;

	if (!reader_more(reader) || ber_skip_element(reader->ber, &value) != tag ||
	    remaining(reader) < reader->end)
		return false;
	*bytes = (struct dirsrv_bytes){.data = value.bv_val, .length = value.bv_len};
	return true;
}

bool reader_number(struct reader *reader, ber_tag_t tag, uint32_t *number)
{
	struct dirsrv_bytes bytes;
	const unsigned char *digits;
	uint32_t value = 0;

	if (!reader_bytes(reader, tag, &bytes) || bytes.length < 1 || bytes.length > 4)
		return false;
	digits = bytes.data;
	if (digits[0] & 0x80)
		return false; /* negative */
	for (size_t i = 0; i < bytes.length; i++)
		value = value << 8 | digits[i];
	*number = value;
	return true;
}

bool reader_boolean(struct reader *reader, ber_tag_t tag, bool *value)
{
	struct dirsrv_bytes bytes;

	if (!reader_bytes(reader, tag, &bytes) || bytes.length != 1)
		return false;
	*value = *(const unsigned char *)bytes.data != 0;
	return true;
}

/* --- what all decoding uses ----------------------------------------------------------------- */

void decode_refuse(struct decoder *decoder, int code, const char *message)
{
	struct request *request = decoder->request;

	if (request->code == LDAP_SUCCESS) {
		request->code = code;
		request->message = message;
	}
}

void *array_add(struct decoder *decoder, struct array *array, size_t size)
{
	void *items;

	if (array->count == array->max) {
		decode_refuse(decoder, LDAP_ADMINLIMIT_EXCEEDED,
			      "the request has too many attributes, values or modifications");
		return NULL;
	}
	items = array_grow(array->items, &array->capacity, array->count + 1, size);
	decoder->no_memory |= !items;
	if (!items)
		return NULL;
	array->items = items;
	return (char *)array->items + array->count++ * size;
}

/* --- filters (RFC 4511, 4.5.1.7), up to a depth and a number of terms ----------------------- */

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
	case FILTER_UNDEFINED:
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
		{LDAP_FILTER_APPROX, FILTER_EQUAL},
		{LDAP_FILTER_EXT, FILTER_UNDEFINED},
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

/* --- add and modify: lists of attributes with values ---------------------------------------- */

/* One attribute of an add request: a pair for each value. */
static bool decode_pairs(struct decoder *decoder, struct array *array)
{
	struct reader *reader = &decoder->reader;
	struct dirsrv_bytes type;
	size_t attribute, values;

	if (!reader_enter(reader, LBER_SEQUENCE, &attribute) ||
	    !reader_bytes(reader, LBER_OCTETSTRING, &type) ||
	    !reader_enter(reader, LBER_SET, &values) || !reader_more(reader))
		return false;
	while (reader_more(reader)) {
		struct dirsrv_pair *pair = array_add(decoder, array, sizeof(*pair));

		if (!pair || !reader_bytes(reader, LBER_OCTETSTRING, &pair->value))
			return false;
		pair->type = type;
	}
	return reader_leave(reader, values) && reader_leave(reader, attribute);
}

bool decode_add(struct decoder *decoder)
{
	struct add_request *add = &decoder->request->add;
	struct array array = {.max = REQUEST_ITEMS_MAX};
	size_t outer;
	bool good = reader_bytes(&decoder->reader, LBER_OCTETSTRING, &add->dn) &&
		    reader_enter(&decoder->reader, LBER_SEQUENCE, &outer);

	while (good && reader_more(&decoder->reader))
		good = decode_pairs(decoder, &array);
	add->pairs = array.items;
	add->count = array.count;
	return good && reader_leave(&decoder->reader, outer);
}

static bool decode_values(struct decoder *decoder, struct array *values, size_t *count)
{
	struct reader *reader = &decoder->reader;
	size_t outer, first = values->count;

	if (!reader_enter(reader, LBER_SET, &outer))
		return false;
	while (reader_more(reader)) {
		struct dirsrv_bytes *value = array_add(decoder, values, sizeof(*value));

		if (!value || !reader_bytes(reader, LBER_OCTETSTRING, value))
			return false;
	}
	*count = values->count - first;
	return reader_leave(reader, outer);
}

static bool decode_item(struct decoder *decoder, struct array *items, struct array *values)
{
	struct reader *reader = &decoder->reader;
	struct modify_item *item = array_add(decoder, items, sizeof(*item));
	size_t outer, attribute;
	uint32_t operation;

	if (!item || !reader_enter(reader, LBER_SEQUENCE, &outer) ||
	    !reader_number(reader, LBER_ENUMERATED, &operation) ||
	    !reader_enter(reader, LBER_SEQUENCE, &attribute) ||
	    !reader_bytes(reader, LBER_OCTETSTRING, &item->type) ||
	    !decode_values(decoder, values, &item->count) || !reader_leave(reader, attribute) ||
	    !reader_leave(reader, outer) || operation > LDAP_MOD_REPLACE)
		return false;
	item->operation = (int)operation;
	return true;
}

/* The array of values moved while it grew: only now do items get their pointers. */
static void place_values(struct modify_request *modify)
{
	struct dirsrv_bytes *next = modify->values;

	for (size_t i = 0; i < modify->count; i++) {
		modify->items[i].values = next;
		next += modify->items[i].count;
	}
}

bool decode_modify(struct decoder *decoder)
{
	struct modify_request *modify = &decoder->request->modify;
	struct array items = {.max = REQUEST_ITEMS_MAX}, values = {.max = REQUEST_ITEMS_MAX};
	size_t outer;
	bool good = reader_bytes(&decoder->reader, LBER_OCTETSTRING, &modify->dn) &&
		    reader_enter(&decoder->reader, LBER_SEQUENCE, &outer);

	while (good && reader_more(&decoder->reader))
		good = decode_item(decoder, &items, &values);
	modify->items = items.items;
	modify->count = items.count;
	modify->values = values.items;
	if (!good || !reader_leave(&decoder->reader, outer))
		return false;
	place_values(modify);
	return true;
}
