/* SPDX-License-Identifier: MIT */
/* What the files of proto/ share: elements of BER, the parts of a request. */
#pragma once

#include "proto/request.h"

#include <slab/dirsrv/entry.h>

#include <lber.h>

/*
 * Reading elements of BER with liblber, with one check that liblber leaves to its caller: an
 * element must end within the element around it. A position is the number of bytes that
 * remain. Functions return false for anything else than what was asked for.
 */
struct reader {
	BerElement *ber; /* of the thread */
	size_t end;      /* bytes that remain after the present element */
};

/* reader_start: read these bytes. Returns false if there is no memory for the thread's
 * BerElement, which request_thread_end() frees. */
bool reader_start(struct reader *reader, void *data, size_t length);

/* reader_more: whether the present element has more bytes. reader_next_tag: the tag of the next
 * element, LBER_DEFAULT at the end. */
bool reader_more(const struct reader *reader);
ber_tag_t reader_next_tag(const struct reader *reader);

/* reader_enter: enter a constructed element; *outer keeps the place for reader_leave(), which
 * requires that all of it has been read. */
bool reader_enter(struct reader *reader, ber_tag_t tag, size_t *outer);
bool reader_leave(struct reader *reader, size_t outer);

/* The value of the next element. */
bool reader_bytes(struct reader *reader, ber_tag_t tag, struct dirsrv_bytes *bytes);
bool reader_number(struct reader *reader, ber_tag_t tag, uint32_t *number); /* 0 … 2^31 - 1 */
bool reader_boolean(struct reader *reader, ber_tag_t tag, bool *value);

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

/* Each function returns false for malformed data or without memory, which `no_memory`
 * distinguishes. */
bool decode_filter(struct decoder *decoder, struct filter **filter, unsigned depth);
bool decode_modify(struct decoder *decoder);
bool decode_add(struct decoder *decoder);
