/* SPDX-License-Identifier: MIT */
/* What the decoder of requests makes of any bytes lies within these bytes. */
#pragma once

extern "C" {
#include "proto/request.h"
}

#include <ldap.h>

#include "../../dirsrv/tests/ldapd/message.h"

/* Reads all bytes that the decoder has found. */
class RequestReader
{
public:
	explicit RequestReader(const Message &message) : message(message) {}

	/* Whether all of them were within the message. */
	bool within() const { return is_within; }

	void read(struct dirsrv_bytes bytes)
	{
		const unsigned char *data = static_cast<const unsigned char *>(bytes.data);

		if (!bytes.length)
			return;
		if (data < message.data() ||
		    bytes.length > static_cast<size_t>(message.data() + message.size() - data)) {
			is_within = false;
			return;
		}
		for (size_t i = 0; i < bytes.length; i++)
			sum += data[i];
	}

	void read(const struct filter *filter)
	{
		for (; filter; filter = filter->next) {
			read(filter->type);
			read(filter->value);
			read(filter->final);
			for (const struct filter_part *part = filter->any; part; part = part->next)
				read(part->value);
			read(filter->children);
		}
	}

	void read(const struct request *request)
	{
		read(request_dn(request));
		switch (request->tag) {
		case LDAP_REQ_BIND:
			read(request->bind.credentials);
			break;
		case LDAP_REQ_SEARCH:
			for (size_t i = 0; i < request->search.attribute_count; i++)
				read(request->search.attributes[i]);
			read(request->search.filter);
			break;
		case LDAP_REQ_COMPARE:
			read(request->compare.type);
			read(request->compare.value);
			break;
		case LDAP_REQ_ADD:
			for (size_t i = 0; i < request->add.count; i++) {
				read(request->add.pairs[i].type);
				read(request->add.pairs[i].value);
			}
			break;
		case LDAP_REQ_MODIFY:
			for (size_t i = 0; i < request->modify.count; i++)
				read(request->modify.items[i]);
			break;
		case LDAP_REQ_EXTENDED:
			read(request->extended.name);
			read(request->extended.value);
			break;
		default:
			break;
		}
	}

private:
	void read(const struct modify_item &item)
	{
		read(item.type);
		for (size_t i = 0; i < item.count; i++)
			read(item.values[i]);
	}

	const Message &message;
	volatile unsigned sum = 0;
	bool is_within = true;
};

struct Decoded {
	enum request_status status;
	uint32_t tag; /* of a decoded request */
	int code;     /* its result so far */
	bool within;
};

/* The message in memory of its own size, so that AddressSanitizer sees what is read behind it. */
inline Decoded decode_message(const Message &made)
{
	Message bytes;
	struct request *request = nullptr;
	uint32_t id = 0, tag = 0;
	Decoded decoded = {};

	bytes.reserve(made.size() + 1);
	bytes = made;
	bytes.push_back(0xee);
	RequestReader reader(bytes);
	decoded.status = request_decode(bytes.data(), made.size(), &request, &id, &tag);
	if (decoded.status == REQUEST_DECODED) {
		decoded.tag = request->tag;
		decoded.code = request->code;
		if (request->code == LDAP_SUCCESS)
			reader.read(request);
	}
	decoded.within = reader.within();
	request_free(request);
	return decoded;
}
