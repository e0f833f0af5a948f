/* SPDX-License-Identifier: MIT */
/* Decoding requests: each kind, their limits, malformed messages. Encoding responses. */
#include <gtest/gtest.h>

#include <cstring>

extern "C" {
#include "filter/filter.h"
#include "proto/request.h"
#include "proto/response.h"
}

#include "message.h"

namespace
{

std::string text(struct dirsrv_bytes bytes)
{
	return std::string(static_cast<const char *>(bytes.data), bytes.length);
}

class RequestDecode : public testing::Test
{
protected:
	static void SetUpTestSuite()
	{
		ASSERT_EQ(0, filter_start());
		ASSERT_EQ(0, request_start());
	}
	static void TearDownTestSuite()
	{
		request_thread_end();
		/* Both fail if an object is still allocated. */
		EXPECT_EQ(0, request_stop());
		EXPECT_EQ(0, filter_stop());
	}
	void TearDown() override { request_free(request); }

	enum request_status decode(const Message &message)
	{
		request_free(request);
		request = nullptr;
		bytes = message;
		bytes.push_back(0xee);
		return request_decode(bytes.data(), message.size(), &request, &id, &tag);
	}

	Message bytes;
	struct request *request = nullptr;
	uint32_t id = 0, tag = 0;
};

Message search_message(const char *filter_type, const char *value)
{
	return message("{it{seeiib"
		       "t{ss}"
		       "{ss}}}",
		       7, LDAP_REQ_SEARCH, "dc=x", LDAP_SCOPE_SUBTREE, 0, 10, 20, 0,
		       LDAP_FILTER_EQUALITY, filter_type, value, "cn", "*");
}

Message operator+(Message left, const Message &right)
{
	left.insert(left.end(), right.begin(), right.end());
	return left;
}

/* An element with a length of two bytes. */
Message wrap(ber_tag_t tag, const Message &content)
{
	Message header = {static_cast<unsigned char>(tag), 0x82,
			  static_cast<unsigned char>(content.size() >> 8),
			  static_cast<unsigned char>(content.size())};

	return header + content;
}

Message operation(ber_tag_t tag, const Message &content)
{
	return wrap(LBER_SEQUENCE, message("i", 1) + wrap(tag, content));
}

TEST_F(RequestDecode, ReadsASimpleBind)
{
	ASSERT_EQ(REQUEST_DECODED, decode(message("{it{ists}}", 1, LDAP_REQ_BIND, 3, "cn=a",
						  LDAP_AUTH_SIMPLE, "secret")));
	EXPECT_EQ(LDAP_SUCCESS, request->code);
	EXPECT_TRUE(request->bind.simple);
	EXPECT_EQ(3u, request->bind.version);
	EXPECT_EQ("cn=a", text(request_dn(request)));
	EXPECT_EQ("secret", text(request->bind.credentials));
}

TEST_F(RequestDecode, ReadsASaslBindWithoutCredentials)
{
	ASSERT_EQ(REQUEST_DECODED, decode(message("{it{ist{s}}}", 1, LDAP_REQ_BIND, 3, "",
						  LDAP_AUTH_SASL, "EXTERNAL")));
	EXPECT_EQ(LDAP_SUCCESS, request->code);
	EXPECT_FALSE(request->bind.simple);
}

TEST_F(RequestDecode, ReadsASearch)
{
	ASSERT_EQ(REQUEST_DECODED, decode(search_message("uid", "ann")));
	EXPECT_EQ(LDAP_SUCCESS, request->code);
	EXPECT_EQ(7u, request->message_id);
	EXPECT_EQ(LDAP_SCOPE_SUBTREE, request->search.scope);
	EXPECT_EQ(10u, request->search.size_limit);
	EXPECT_EQ(20u, request->search.time_limit);
	ASSERT_EQ(2u, request->search.attribute_count);
	EXPECT_EQ("*", text(request->search.attributes[1]));
	EXPECT_EQ(FILTER_EQUAL, request->search.filter->kind);
	EXPECT_EQ("ann", text(request->search.filter->value));
}

TEST_F(RequestDecode, ReadsSubstringsInTheirOrder)
{
	ASSERT_EQ(REQUEST_DECODED,
		  decode(message("{it{seeiibt{s{tstststs}}{}}}", 1, LDAP_REQ_SEARCH, "", 0, 0, 0, 0,
				 0, LDAP_FILTER_SUBSTRINGS, "cn", LDAP_SUBSTRING_INITIAL, "a",
				 LDAP_SUBSTRING_ANY, "b", LDAP_SUBSTRING_ANY, "c",
				 LDAP_SUBSTRING_FINAL, "d")));
	ASSERT_EQ(LDAP_SUCCESS, request->code);
	const struct filter *filter = request->search.filter;
	EXPECT_EQ("a", text(filter->value));
	EXPECT_EQ("b", text(filter->any->value));
	EXPECT_EQ("c", text(filter->any->next->value));
	EXPECT_EQ("d", text(filter->final));
}

TEST_F(RequestDecode, RefusesAnInitialSubstringThatIsNotTheFirst)
{
	ASSERT_EQ(REQUEST_DECODED,
		  decode(message("{it{seeiibt{s{tsts}}{}}}", 1, LDAP_REQ_SEARCH, "", 0, 0, 0, 0, 0,
				 LDAP_FILTER_SUBSTRINGS, "cn", LDAP_SUBSTRING_ANY, "b",
				 LDAP_SUBSTRING_INITIAL, "a")));
	EXPECT_EQ(LDAP_PROTOCOL_ERROR, request->code);
}

TEST_F(RequestDecode, ReadsAnEmptyAnd)
{
	ASSERT_EQ(REQUEST_DECODED, decode(message("{it{seeiibt{}{}}}", 1, LDAP_REQ_SEARCH, "", 0, 0,
						  0, 0, 0, LDAP_FILTER_AND)));
	EXPECT_EQ(LDAP_SUCCESS, request->code);
	EXPECT_EQ(nullptr, request->search.filter->children);
}

TEST_F(RequestDecode, RefusesAFilterThatIsTooDeep)
{
	/* (!(!(… (a=b))) with one NOT more than is allowed. */
	Message filter = message("t{ss}", LDAP_FILTER_EQUALITY, "a", "b");

	for (unsigned i = 0; i < REQUEST_FILTER_DEPTH_MAX; i++)
		filter = wrap(LDAP_FILTER_NOT, filter);
	ASSERT_EQ(REQUEST_DECODED,
		  decode(operation(LDAP_REQ_SEARCH,
				   message("seeiib", "", 0, 0, 0, 0, 0) + filter + message("{}"))));
	EXPECT_EQ(LDAP_ADMINLIMIT_EXCEEDED, request->code);
}

TEST_F(RequestDecode, ReadsAnAddWithAPairForEachValue)
{
	ASSERT_EQ(REQUEST_DECODED, decode(message("{it{s{{s[ss]}{s[s]}}}}", 1, LDAP_REQ_ADD, "cn=a",
						  "mail", "x", "y", "cn", "a")));
	ASSERT_EQ(LDAP_SUCCESS, request->code);
	ASSERT_EQ(3u, request->add.count);
	EXPECT_EQ("mail", text(request->add.pairs[1].type));
	EXPECT_EQ("y", text(request->add.pairs[1].value));
	EXPECT_EQ("cn", text(request->add.pairs[2].type));
}

TEST_F(RequestDecode, RefusesAnAddWithAnAttributeWithoutValues)
{
	ASSERT_EQ(REQUEST_DECODED,
		  decode(message("{it{s{{s[]}}}}", 1, LDAP_REQ_ADD, "cn=a", "mail")));
	EXPECT_EQ(LDAP_PROTOCOL_ERROR, request->code);
}

TEST_F(RequestDecode, GivesEachModificationItsOwnValues)
{
	/* So many that the array of values moves while it grows. */
	Message list;

	for (int i = 0; i < 50; i++)
		list = list + message("{e{s[ss]}}", LDAP_MOD_ADD, "mail",
				      ("a" + std::to_string(i)).c_str(),
				      ("b" + std::to_string(i)).c_str());
	ASSERT_EQ(REQUEST_DECODED,
		  decode(operation(LDAP_REQ_MODIFY,
				   message("s", "cn=a") + wrap(LBER_SEQUENCE, list))));
	ASSERT_EQ(LDAP_SUCCESS, request->code);
	ASSERT_EQ(50u, request->modify.count);
	EXPECT_EQ("b49", text(request->modify.items[49].values[1]));
}

TEST_F(RequestDecode, ReadsUnbindDeleteAbandonAndExtended)
{
	ASSERT_EQ(REQUEST_DECODED, decode(message("{itn}", 1, LDAP_REQ_UNBIND)));
	EXPECT_EQ(LDAP_SUCCESS, request->code);
	ASSERT_EQ(REQUEST_DECODED, decode(message("{its}", 2, LDAP_REQ_DELETE, "cn=a")));
	EXPECT_EQ("cn=a", text(request_dn(request)));
	ASSERT_EQ(REQUEST_DECODED, decode(message("{iti}", 3, LDAP_REQ_ABANDON, 2)));
	EXPECT_EQ(2u, request->abandon_id);
	ASSERT_EQ(REQUEST_DECODED,
		  decode(message("{it{tsts}}", 4, LDAP_REQ_EXTENDED, LDAP_TAG_EXOP_REQ_OID, "1.2.3",
				 LDAP_TAG_EXOP_REQ_VALUE, "v")));
	EXPECT_EQ("1.2.3", text(request->extended.name));
	EXPECT_EQ("v", text(request->extended.value));
}

Message with_control(const char *oid, int critical, const Message &value)
{
	struct berval bytes = {value.size(),
			       const_cast<char *>(reinterpret_cast<const char *>(value.data()))};

	return message("{it{seeiibts{}}t{{sbO}}}", 1, LDAP_REQ_SEARCH, "", 0, 0, 0, 0, 0,
		       LDAP_FILTER_PRESENT, "cn", LDAP_TAG_CONTROLS, oid, critical, &bytes);
}

TEST_F(RequestDecode, RefusesAnUnknownControlOnlyIfItIsCritical)
{
	ASSERT_EQ(REQUEST_DECODED, decode(with_control("1.2.3.4", 0, message("{}"))));
	EXPECT_EQ(LDAP_SUCCESS, request->code);
	ASSERT_EQ(REQUEST_DECODED, decode(with_control("1.2.3.4", 1, message("{}"))));
	EXPECT_EQ(LDAP_UNAVAILABLE_CRITICAL_EXTENSION, request->code);
}

TEST_F(RequestDecode, AcceptsAControlWithoutReferrals)
{
	ASSERT_EQ(REQUEST_DECODED,
		  decode(with_control(LDAP_CONTROL_MANAGEDSAIT, 1, message("{}"))));
	EXPECT_EQ(LDAP_SUCCESS, request->code);
}

TEST_F(RequestDecode, CallsAMessageWithoutIdOrOperationMalformed)
{
	EXPECT_EQ(REQUEST_MALFORMED, decode(message("{}")));
	EXPECT_EQ(REQUEST_MALFORMED, decode(message("{i}", 1)));
	EXPECT_EQ(REQUEST_MALFORMED, decode(message("{its}", 1, LDAP_RES_SEARCH_ENTRY, "x")));
	EXPECT_EQ(REQUEST_MALFORMED, decode(message("{its}", 0, LDAP_REQ_DELETE, "x")));
}

TEST_F(RequestDecode, RefusesAnElementThatEndsBehindTheOneAroundIt)
{
	Message bind = message("{it{ists}}", 1, LDAP_REQ_BIND, 3, "cn=a", LDAP_AUTH_SIMPLE, "pw");

	bind[bind.size() - 3] = 3; /* the length of the password: one byte more than there are */
	ASSERT_EQ(REQUEST_DECODED, decode(bind));
	EXPECT_EQ(LDAP_PROTOCOL_ERROR, request->code);
}

/* --- frames ----------------------------------------------------------------------------------- */

long frame(std::initializer_list<unsigned char> bytes, size_t max = 1000)
{
	std::vector<unsigned char> data(bytes);

	return request_frame(data.data(), data.size(), max);
}

TEST(RequestFrame, KnowsTheLengthAsSoonAsTheHeaderIsComplete)
{
	EXPECT_EQ(0, frame({}));
	EXPECT_EQ(0, frame({0x30}));
	EXPECT_EQ(7, frame({0x30, 5}));
	EXPECT_EQ(0, frame({0x30, 0x82, 1}));
	EXPECT_EQ(4 + 0x104, frame({0x30, 0x82, 1, 4}));
}

TEST(RequestFrame, RefusesWhatIsNoMessage)
{
	EXPECT_EQ(-1, frame({'G'}));
	EXPECT_EQ(-1, frame({0x30, 0x80}));
	EXPECT_EQ(-1, frame({0x30, 0x85, 0, 0, 0, 0, 1}));
}

TEST(RequestFrame, RefusesALongMessageBeforeItArrives)
{
	EXPECT_EQ(102, frame({0x30, 100}, 102));
	EXPECT_EQ(-1, frame({0x30, 101}, 102));
	EXPECT_EQ(-1, frame({0x30, 0x84, 0xff, 0xff, 0xff, 0xff}));
}

Message bytes_of(struct dirsrv_bytes bytes)
{
	const unsigned char *data = static_cast<const unsigned char *>(bytes.data);

	return Message(data, data + bytes.length);
}

class ResponseEncode : public testing::Test
{
protected:
	static void SetUpTestSuite() { response_start(); }
	void TearDown() override { response_thread_end(); }
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
