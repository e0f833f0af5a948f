/* SPDX-License-Identifier: MIT */
/* Responses: what is encoded with liblber, and without memory. */
#include <gtest/gtest.h>

extern "C" {
#include "proto/response.h"
}

#include <ldap.h>

#include <cstring>
#include <string>

#include "message.h"

namespace
{

Message bytes_of(struct dirsrv_bytes bytes)
{
	const unsigned char *data = static_cast<const unsigned char *>(bytes.data);

	return Message(data, data + bytes.length);
}

class ResponseEncode : public testing::Test
{
protected:
	static void SetUpTestSuite()
	{
		response_start();
	}
	void TearDown() override
	{
		response_thread_end();
	}
};

TEST_F(ResponseEncode, WritesAResult)
{
	struct response response = {};

	response.message_id = 5;
	response.tag = LDAP_RES_DELETE;
	response.code = LDAP_NO_SUCH_OBJECT;
	response.matched = "dc=x";
	response.message = "gone";
	EXPECT_EQ(message("{it{ess}}", 5, LDAP_RES_DELETE, LDAP_NO_SUCH_OBJECT, "dc=x", "gone"),
		  bytes_of(response_encode(&response)));
}

TEST_F(ResponseEncode, WritesTheValueOfAnExtendedResponse)
{
	struct response response = {};

	response.message_id = 5;
	response.tag = LDAP_RES_EXTENDED;
	response.value = {"dn:cn=a", 7};
	EXPECT_EQ(message("{it{essts}}", 5, LDAP_RES_EXTENDED, 0, "", "", LDAP_TAG_EXOP_RES_VALUE,
			  "dn:cn=a"),
		  bytes_of(response_encode(&response)));
}

TEST_F(ResponseEncode, WritesTheControlOfPagedResults)
{
	struct response response = {};
	Message value = message("{is}", 0, "c");
	struct berval inner = {value.size(), reinterpret_cast<char *>(value.data())};

	response.message_id = 5;
	response.tag = LDAP_RES_SEARCH_RESULT;
	response.paged = true;
	response.cookie = {"c", 1};
	EXPECT_EQ(message("{it{ess}t{{sO}}}", 5, LDAP_RES_SEARCH_RESULT, 0, "", "",
			  LDAP_TAG_CONTROLS, LDAP_CONTROL_PAGEDRESULTS, &inner),
		  bytes_of(response_encode(&response)));
}

TEST_F(ResponseEncode, WritesAnEntryWithAllItsValues)
{
	response_entry_begin(9, "cn=a", 4);
	response_attribute_begin("mail", 4);
	response_value({"x", 1});
	response_value({"y", 1});
	response_attribute_end();
	response_attribute_begin("sn", 2);
	response_attribute_end();
	EXPECT_EQ(message("{it{s{{s[ss]}{s[]}}}}", 9, LDAP_RES_SEARCH_ENTRY, "cn=a", "mail", "x",
			  "y", "sn"),
		  bytes_of(response_entry_end()));
}

TEST_F(ResponseEncode, WritesALargeEntry)
{
	std::string value(100000, 'v');

	response_entry_begin(9, "cn=a", 4);
	response_attribute_begin("mail", 4);
	response_value({value.data(), value.size()});
	response_attribute_end();
	EXPECT_EQ(
		message("{it{s{{s[s]}}}}", 9, LDAP_RES_SEARCH_ENTRY, "cn=a", "mail", value.c_str()),
		bytes_of(response_entry_end()));
}

TEST(ResponseRefusal, HasTheBytesThatLiblberWrites)
{
	char to[RESPONSE_REFUSAL_MAX];

	for (uint32_t id : {1u, 127u, 128u, 32767u, 32768u, 0x7fffffffu}) {
		size_t length = response_refusal(to, id, LDAP_RES_ADD, LDAP_BUSY, "full");

		EXPECT_EQ(message("{it{ess}}", static_cast<ber_int_t>(id), LDAP_RES_ADD, LDAP_BUSY,
				  "", "full"),
			  Message(to, to + length));
	}
}

TEST(ResponseRefusal, WritesTheNoticeOfDisconnection)
{
	char to[RESPONSE_REFUSAL_MAX];
	size_t length = response_notice(to, LDAP_UNAVAILABLE, "stop");

	EXPECT_EQ(message("{it{essts}}", 0, LDAP_RES_EXTENDED, LDAP_UNAVAILABLE, "", "stop",
			  LDAP_TAG_EXOP_RES_OID, LDAP_NOTICE_OF_DISCONNECTION),
		  Message(to, to + length));
}

TEST(ResponseRefusal, RefusesAMessageThatIsTooLong)
{
	char to[RESPONSE_REFUSAL_MAX];

	EXPECT_EQ(0u, response_refusal(to, 1, LDAP_RES_ADD, LDAP_BUSY,
				       std::string(RESPONSE_REFUSAL_MAX, 'x').c_str()));
}

} // namespace
