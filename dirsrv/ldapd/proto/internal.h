/* SPDX-License-Identifier: MIT */
/* What the files of proto/ share: decoding the parts of a request. Each function returns false
 * for malformed data or without memory, which `failure` distinguishes. */
#ifndef LDAPD_PROTO_INTERNAL_H
#define LDAPD_PROTO_INTERNAL_H

#include "proto/reader.h"
#include "proto/request.h"

/* An array that grows while it is decoded. */
struct array {
	void *items; /* of slab_malloc() */
	size_t count, capacity;
	size_t max; /* items that a request may have */
};

/* What a decoder knows about the request so far. */
struct decoder {
	struct reader reader;
	struct request *request;
	bool no_memory;
	unsigned terms; /* of the filter */
};

/* array_add: the next item of an array, of `size` bytes and not initialized. NULL: the request has
 * too many of them and is refused, or there is no memory. */
void *array_add(struct decoder *decoder, struct array *array, size_t size);

/* decode_refuse: the request is well-formed and cannot be executed; the first reason stays. */
void decode_refuse(struct decoder *decoder, int code, const char *message);

bool decode_filter(struct decoder *decoder, struct filter **filter, unsigned depth);
bool decode_controls(struct decoder *decoder);
bool decode_modify(struct decoder *decoder);
bool decode_add(struct decoder *decoder);

#endif /* LDAPD_PROTO_INTERNAL_H */
