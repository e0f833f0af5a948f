/* SPDX-License-Identifier: MIT */
/* Messages: lengths of incomplete ones, malformed ones, neighbours in a buffer. */
extern "C" {
#include "message.h"
}

#include <gtest/gtest.h>

#include <ldap.h>
#include <string>

namespace
{

std::string result(int id, int code, const char *text)
{
	BerElement *ber = ber_alloc_t(LBER_USE_DER);
	struct berval bytes;
	std::string message;

	EXPECT_GE(ber_printf(ber, "{it{ess}}", id, LDAP_RES_SEARCH_RESULT, code, "", text), 0);
	EXPECT_EQ(ber_flatten2(ber, &bytes, 0), 0);
	message.assign(bytes.bv_val, bytes.bv_len);
	ber_free(ber, 1);
	return message;
}

class LdapLoadMessage : public ::testing::Test
{
protected:
	~LdapLoadMessage() override
	{
		ber_free(ber_, 0);
		buffer_free(&out_);
	}

	BerElement *ber_ = ber_alloc_t(LBER_USE_DER);
	struct buffer out_ = {};
	struct answer answer_ = {};
};

TEST_F(LdapLoadMessage, LengthIsUnknownUntilItsBytesAreThere)
{
	std::string message = result(1, 0, std::string(300, 'x').c_str());

	for (size_t i = 0; i < 4; i++)
		EXPECT_EQ(message_length(message.data(), i), 0) << i;
	for (size_t i = 4; i <= message.size(); i++)
		EXPECT_EQ(message_length(message.data(), i), (ssize_t)message.size()) << i;
}

TEST_F(LdapLoadMessage, OtherBytesAreNoMessage)
{
	EXPECT_EQ(message_length("HTTP/1.1", 8), -1);
	EXPECT_EQ(message_length("x", 1), -1);
	EXPECT_EQ(message_length("\x30\x80", 2), -1);
	EXPECT_EQ(message_length("\x30\x85\x01\x01\x01\x01\x01", 7), -1);
}

TEST_F(LdapLoadMessage, ReadingAnAnswerKeepsTheNextOne)
{
	std::string first = result(1, LDAP_BUSY, "later"), both = first + result(2, 0, "");
	std::string before = both;

	ASSERT_EQ(message_read_answer(ber_, both.data(), first.size(), &answer_), 0);
	EXPECT_EQ(answer_.id, 1);
	EXPECT_EQ(answer_.tag, LDAP_RES_SEARCH_RESULT);
	EXPECT_EQ(answer_.code, LDAP_BUSY);
	EXPECT_EQ(std::string(answer_.text.bv_val, answer_.text.bv_len), "later");
	EXPECT_EQ(both.substr(first.size()), before.substr(first.size()));
}

TEST_F(LdapLoadMessage, MalformedAnswerIsRefused)
{
	std::string message = result(1, 0, "text");

	message[message.size() - 5] = 0x7f; /* a text longer than the message */
	EXPECT_EQ(message_read_answer(ber_, message.data(), message.size(), &answer_), -1);
	message = result(1, 0, "text");
	message[3] = 9; /* bytes of the number of the message: more than an integer has */
	EXPECT_EQ(message_read_answer(ber_, message.data(), message.size(), &answer_), -1);
}

TEST_F(LdapLoadMessage, RequestsAreAppended)
{
	message_delete(&out_, 1, "cn=a");
	size_t first = out_.length;
	message_unbind(&out_, 2);
	EXPECT_EQ(message_length(out_.bytes, out_.length), (ssize_t)first);
	EXPECT_EQ(message_length(out_.bytes + first, out_.length - first),
		  (ssize_t)(out_.length - first));
}

TEST_F(LdapLoadMessage, SearchForSeveralValuesIsAnOr)
{
	char one[] = "one", two[] = "two", *values[] = {one, two};

	message_search(&out_, 1, "dc=x", "uid", values, 2);
	std::string bytes(out_.bytes, out_.length);
	EXPECT_NE(bytes.find(std::string("\xa1\x18\xa3\x0a\x04\x03uid\x04\x03one\xa3\x0a\x04\x03uid"
					 "\x04\x03two")),
		  std::string::npos);
}

TEST_F(LdapLoadMessage, AddedEntryHasItsNamingAttributeOnce)
{
	message_add(&out_, 1, "cn=a,dc=x", "cn", "a");
	std::string bytes(out_.bytes, out_.length);
	EXPECT_EQ(bytes.find("\x04\x02"
			     "cn"),
		  bytes.rfind("\x04\x02"
			      "cn"));
	out_.length = 0;
	message_add(&out_, 1, "uid=a,dc=x", "uid", "a");
	bytes.assign(out_.bytes, out_.length);
	EXPECT_NE(bytes.find("\x04\x03uid"), std::string::npos);
}

} // namespace
