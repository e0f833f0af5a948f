/* SPDX-License-Identifier: MIT */
/* Decoding malformed messages, for SLAB_STRESS_SECONDS, 2 by default, from LDAPD_FUZZ_SEED on. */
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "fuzzer.h"
#include "request_reader.h"

namespace
{

const unsigned SEED = 3835;
const long MAX_PDU = 1 << 20;

class RequestFuzz : public testing::Test
{
protected:
	void SetUp() override
	{
		ASSERT_EQ(0, filter_start());
		ASSERT_EQ(0, request_start());
	}
	void TearDown() override
	{
		request_thread_end();
		/* Both fail if an object is still allocated. */
		EXPECT_EQ(0, request_stop());
		EXPECT_EQ(0, filter_stop());
	}
};

enum request_status decode(const Message &made, std::map<std::pair<uint32_t, int>, long> &decoded)
{
	const Decoded one = decode_message(made);

	EXPECT_TRUE(one.within);
	if (one.status == REQUEST_DECODED)
		decoded[{one.tag, one.code}]++;
	return one.status;
}

std::chrono::duration<double> fuzz_time()
{
	const char *seconds = std::getenv("SLAB_STRESS_SECONDS");

	return std::chrono::duration<double>(seconds ? std::atof(seconds) : 2);
}

unsigned fuzz_seed()
{
	const char *seed = std::getenv("LDAPD_FUZZ_SEED");

	return seed ? static_cast<unsigned>(std::strtoul(seed, nullptr, 10)) : SEED;
}

TEST_F(RequestFuzz, SurvivesMalformedMessages)
{
	const auto end = std::chrono::steady_clock::now() + fuzz_time();
	std::map<std::pair<uint32_t, int>, long> decoded;
	const unsigned seed = fuzz_seed();
	Fuzzer fuzzer(seed);
	long messages = 0;

	std::printf("LDAPD_FUZZ_SEED=%u\n", seed);
	std::fflush(stdout);

	do {
		const Message made = fuzzer.next();
		const long length = request_frame(made.data(), made.size(), MAX_PDU);

		ASSERT_LE(length, MAX_PDU);
		decode(made, decoded);
		messages++;
	} while (!HasFailure() && std::chrono::steady_clock::now() < end);
	std::printf("%ld messages\n", messages);
}

/* Messages that the envelope or the first bytes give away would try little of the decoder. */
TEST_F(RequestFuzz, ReachesTheDecoderOfEachOperation)
{
	static const uint32_t tags[] = {LDAP_REQ_BIND,    LDAP_REQ_UNBIND,  LDAP_REQ_SEARCH,
					LDAP_REQ_MODIFY,  LDAP_REQ_ADD,     LDAP_REQ_DELETE,
					LDAP_REQ_MODRDN,  LDAP_REQ_COMPARE, LDAP_REQ_ABANDON,
					LDAP_REQ_EXTENDED};
	std::map<std::pair<uint32_t, int>, long> decoded;
	Fuzzer fuzzer(SEED);
	long malformed = 0;

	for (unsigned i = 0; i < 20000; i++)
		malformed += decode(fuzzer.next(), decoded) == REQUEST_MALFORMED;
	for (uint32_t tag : tags) {
		EXPECT_GT((decoded[{tag, LDAP_SUCCESS}]), 50) << std::hex << tag;
		EXPECT_GT((decoded[{tag, LDAP_PROTOCOL_ERROR}]), 50) << std::hex << tag;
		EXPECT_GT((decoded[{tag, LDAP_UNAVAILABLE_CRITICAL_EXTENSION}]), 5) << tag;
	}
	EXPECT_GT((decoded[{LDAP_REQ_SEARCH, LDAP_ADMINLIMIT_EXCEEDED}]), 20);
	EXPECT_GT(malformed, 500);
	EXPECT_LT(malformed, 5000);
}

TEST_F(RequestFuzz, DecodesTheRequestsThatAreValid)
{
	std::map<std::pair<uint32_t, int>, long> decoded;
	Fuzzer fuzzer(SEED);

	for (unsigned i = 0; i < 5000; i++)
		ASSERT_EQ(REQUEST_DECODED, decode(fuzzer.valid(), decoded));
	for (const auto &[kind, count] : decoded)
		EXPECT_TRUE(kind.second == LDAP_SUCCESS ||
			    kind.second == LDAP_UNAVAILABLE_CRITICAL_EXTENSION ||
			    /* a control's value of another control */
			    kind.first == LDAP_REQ_SEARCH)
			<< std::hex << kind.first << " " << kind.second << " " << count;
}

} // namespace
