/* SPDX-License-Identifier: MIT */
/* What all files that decode use: growing arrays, refusals, comparisons. */
#include "proto/internal.h"

#include "base/memory.h"

#include <ldap.h>
#include <string.h>
#include <strings.h>

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

void decode_refuse(struct decoder *decoder, int code, const char *message)
{
	struct request *request = decoder->request;

	if (request->code == LDAP_SUCCESS) {
		request->code = code;
		request->message = message;
	}
}

bool request_bytes_equal(struct dirsrv_bytes bytes, const char *text)
{
	return bytes.length == strlen(text) && strncasecmp(bytes.data, text, bytes.length) == 0;
}
