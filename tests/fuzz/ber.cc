/* SPDX-License-Identifier: MIT */
/* ldapd's decoder of requests, on the bytes of one message. */
#include <ldap.h>

#include "input.h"

extern "C" {
#include "filter/filter.h"
#include "proto/request.h"
}

namespace
{

constexpr long pdu_max = 1 << 20;

using bytes = std::vector<unsigned char>;

/* Reads all bytes that the decoder has found, which lie within the message. */
class request_reader
{
public:
	explicit request_reader(const bytes &message) : message_(message) {}

	void read(struct dirsrv_bytes bytes)
	{
		const unsigned char *data = static_cast<const unsigned char *>(bytes.data);

		if (!bytes.length)
			return;
		FUZZ_CHECK(data >= message_.data() &&
			   bytes.length <=
				   static_cast<size_t>(message_.data() + message_.size() - data));
		for (size_t i = 0; i < bytes.length; i++)
			sum_ += data[i];
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

	const bytes &message_;
	volatile unsigned sum_ = 0;
};

} /* namespace */

int LLVMFuzzerInitialize(int *, char ***)
{
	setenv("SLAB_CONTROL", "off", 1);
	FUZZ_CHECK(filter_start() == 0 && request_start() == 0);
	/* Both fail if an object is still allocated. */
	std::atexit([] {
		request_thread_end();
		FUZZ_CHECK(request_stop() == 0 && filter_stop() == 0);
	});
	return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	/* In memory of its own size, so that AddressSanitizer sees what is read behind it. */
	bytes message;
	struct request *request = nullptr;
	std::uint32_t id = 0, tag = 0;

	FUZZ_CHECK(request_frame(data, size, pdu_max) <= pdu_max);
	message.reserve(size + 1);
	message.assign(data, data + size);
	message.push_back(0xee);
	if (request_decode(message.data(), size, &request, &id, &tag) == REQUEST_DECODED &&
	    request->code == LDAP_SUCCESS)
		request_reader(message).read(request);
	request_free(request);
	return 0;
}
