/* SPDX-License-Identifier: MIT */
/* Histograms, the LDIF of a directory, messages. */
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

extern "C" {
#include "args.h"
#include "message.h"
#include "report.h"
}

namespace
{

class LdapLoadHistogram : public ::testing::Test
{
protected:
	uint64_t percentile(double percent) const
	{
		return histogram_percentile(histogram_.get(), percent);
	}

	std::unique_ptr<struct histogram> histogram_ = std::make_unique<struct histogram>();
};

TEST_F(LdapLoadHistogram, HasNoPercentileWithoutValues)
{
	EXPECT_EQ(percentile(50), 0u);
	EXPECT_EQ(percentile(100), 0u);
}

TEST_F(LdapLoadHistogram, IsExactForSmallValues)
{
	for (uint64_t ns = 1; ns <= 60; ns++)
		histogram_add(histogram_.get(), ns);
	EXPECT_EQ(percentile(50), 30u);
	EXPECT_EQ(percentile(100), 60u);
}

TEST_F(LdapLoadHistogram, PercentileIsAtMostASixtyFourthAboveTheValue)
{
	for (uint64_t ns = 1; ns < UINT64_C(1) << 40; ns = ns * 5 / 4 + 1) {
		*histogram_ = {};
		histogram_add(histogram_.get(), ns);
		histogram_add(histogram_.get(), UINT64_C(1) << 40);
		EXPECT_GE(percentile(50), ns);
		EXPECT_LE(percentile(50), ns + ns / 64);
	}
}

TEST_F(LdapLoadHistogram, CountsEveryShareOfTheValues)
{
	for (int i = 0; i < 999; i++)
		histogram_add(histogram_.get(), 1000);
	histogram_add(histogram_.get(), 1000000);
	EXPECT_NEAR((double)percentile(50), 1000, 16);
	EXPECT_NEAR((double)percentile(99.9), 1000, 16);
	EXPECT_EQ(percentile(99.95), 1000000u);
	EXPECT_EQ(percentile(100), 1000000u);
}

TEST_F(LdapLoadHistogram, KeepsTheMaximumOfValuesBeyondItsBuckets)
{
	histogram_add(histogram_.get(), UINT64_MAX);
	EXPECT_EQ(percentile(100), UINT64_MAX);
	EXPECT_EQ(percentile(50), UINT64_MAX);
}

TEST_F(LdapLoadHistogram, MergedHasTheValuesOfBoth)
{
	auto other = std::make_unique<struct histogram>();

	histogram_add(histogram_.get(), 10);
	histogram_add(other.get(), 20);
	histogram_add(other.get(), 30);
	histogram_merge(histogram_.get(), other.get());
	EXPECT_EQ(histogram_->total, 3u);
	EXPECT_EQ(percentile(50), 20u);
	EXPECT_EQ(percentile(100), 30u);
}

/* What a function writes to a file. */
template <typename F> std::string written(F write)
{
	char *text = nullptr;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	write(file);
	fclose(file);
	std::string result(text, size);
	free(text);
	return result;
}

struct args arguments(std::vector<const char *> words)
{
	struct args args;

	words.insert(words.begin(), "ldapload");
	EXPECT_EQ(args_parse(&args, (int)words.size(), const_cast<char **>(words.data())), -1);
	return args;
}

std::string ldif(const struct args &args)
{
	char error[512] = "";

	return written([&](FILE *file) {
		EXPECT_EQ(ldif_write(file, &args, error, sizeof(error)), 0) << error;
	});
}

size_t occurrences(const std::string &text, const std::string &part)
{
	size_t count = 0;

	for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
		count++;
	return count;
}

TEST(LdapLoadLdif, HasTheEntriesOfTheBaseAndThePeople)
{
	std::string text = ldif(arguments({"--make-ldif", "3", "-b", "ou=a,o=b,dc=c,dc=d"}));

	EXPECT_EQ(text.find("dn: dc=c,dc=d\nobjectClass: domain\ndc: c\n\n"
			    "dn: o=b,dc=c,dc=d\nobjectClass: organization\no: b\n\n"
			    "dn: ou=a,o=b,dc=c,dc=d\nobjectClass: organizationalUnit\nou: a\n\n"
			    "dn: uid=user000000,ou=a,o=b,dc=c,dc=d\n"),
		  0u);
	EXPECT_EQ(occurrences(text, "dn: "), 6u);
	EXPECT_EQ(occurrences(text, "\nuid: user000002\n"), 1u);
}

TEST(LdapLoadLdif, WritesTheSameBytesEachTime)
{
	EXPECT_EQ(ldif(arguments({"--make-ldif", "100"})), ldif(arguments({"--make-ldif", "100"})));
}

TEST(LdapLoadLdif, NamingAttributeHasOneValue)
{
	std::string text =
		ldif(arguments({"--make-ldif", "1", "--attribute", "cn", "--values", "n%u:5-5"}));

	EXPECT_NE(text.find("dn: cn=n5,ou=People,"), std::string::npos);
	EXPECT_EQ(occurrences(text, "\ncn: "), 1u);
}

TEST(LdapLoadLdif, ValuesThatAreNotPlainAreInBase64)
{
	auto attribute = [](const char *value) {
		return written([&](FILE *file) { ldif_print(file, "a", value); });
	};

	EXPECT_EQ(attribute("plain text"), "a: plain text\n");
	EXPECT_EQ(attribute(" a"), "a:: IGE=\n");
	EXPECT_EQ(attribute("a "), "a:: YSA=\n");
	EXPECT_EQ(attribute(":ab"), "a:: OmFi\n");
	EXPECT_EQ(attribute("\xc3\xa9"), "a:: w6k=\n");
	EXPECT_EQ(attribute("a\nbc"), "a:: YQpiYw==\n");
}

TEST(LdapLoadLdif, BaseOfAnUnknownKindIsRefused)
{
	char error[512] = "";
	struct args args = arguments({"--make-ldif", "1", "-b", "cn=x"});

	written([&](FILE *file) { EXPECT_EQ(ldif_write(file, &args, error, sizeof(error)), -1); });
	EXPECT_NE(std::string(error).find("accepted: dc, ou, o, c, l"), std::string::npos);
	args = arguments({"--make-ldif", "1", "-b", "nothing"});
	written([&](FILE *file) { EXPECT_EQ(ldif_write(file, &args, error, sizeof(error)), -1); });
	EXPECT_NE(std::string(error).find("'nothing' is no DN"), std::string::npos);
}

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
