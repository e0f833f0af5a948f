/* SPDX-License-Identifier: MIT */
/* ldapd's decoder of requests, on the bytes of one message. */
#include "input.h"
#include "request_reader.h"

namespace
{

constexpr long pdu_max = 1 << 20;

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
	const Message message(data, data + size);

	FUZZ_CHECK(request_frame(message.data(), message.size(), pdu_max) <= pdu_max);
	FUZZ_CHECK(decode_message(message).within);
	return 0;
}
