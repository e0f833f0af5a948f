/* SPDX-License-Identifier: MIT */
/* Reading BER: bounds of nested elements over liblber. */
#include "proto/reader.h"
#include "proto/request.h"

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
