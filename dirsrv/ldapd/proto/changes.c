/* SPDX-License-Identifier: MIT */
/* Decoding add and modify: lists of attributes with values. */
#include "proto/internal.h"

#include <slab/malloc.h>

#include <ldap.h>

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
