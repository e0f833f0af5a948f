/* SPDX-License-Identifier: MIT */
/* The LDIF reader: what it reads, and what it reports about the rest. */
extern "C" {
#include "source.h"
}

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace
{

struct parsed {
	std::string dn;
	size_t line;
	std::vector<std::pair<std::string, std::string>> values;
};

class LdifTest : public ::testing::Test
{
protected:
	void SetUp() override
	{
		int fd = mkstemp(path_);

		ASSERT_GE(fd, 0);
		close(fd);
	}

	void TearDown() override { unlink(path_); }

	/* Read a file of this content to its end. */
	enum source_status read(const std::string &content)
	{
		struct source source;
		struct record record = {};
		enum source_status status;
		FILE *file = fopen(path_, "w");

		fwrite(content.data(), 1, content.size(), file);
		fclose(file);
		EXPECT_EQ(source_open(&source, path_), 0);
		records.clear();
		testing::internal::CaptureStderr();
		while ((status = source_next(&source, &record)) == SOURCE_RECORD)
			keep(record);
		bad = source.bad;
		source_close(&source);
		said = testing::internal::GetCapturedStderr();
		record_free(&record);
		return status;
	}

	/* True when a complaint about that line was printed. */
	bool complained(size_t line, const std::string &what) const
	{
		std::string start = std::string(path_) + ":" + std::to_string(line) + ": " + what;

		return said.find(start) != std::string::npos;
	}

	std::vector<parsed> records;
	std::string said;
	size_t bad = 0;

private:
	void keep(const struct record &record)
	{
		parsed one{std::string(record_dn(&record), record.dn_length), record.line, {}};

		for (size_t i = 0; i < record.count; i++)
			one.values.emplace_back(
				std::string(record_type(&record, i), record.pairs[i].type_length),
				std::string(record_value(&record, i),
					    record.pairs[i].value_length));
		records.push_back(one);
	}

	char path_[32] = "/tmp/ldif_test.XXXXXX";
};

using values = std::vector<std::pair<std::string, std::string>>;

TEST_F(LdifTest, ReadsRecords)
{
	EXPECT_EQ(read("version: 1\ndn: uid=a,dc=x\nuid: a\nmail: 1\nmail: 2\n\n\n"
		       "dn: uid=b,dc=x\nuid:b"),
		  SOURCE_END);
	ASSERT_EQ(records.size(), 2u);
	EXPECT_EQ(records[0].dn, "uid=a,dc=x");
	EXPECT_EQ(records[0].line, 2u);
	EXPECT_EQ(records[0].values, (values{{"uid", "a"}, {"mail", "1"}, {"mail", "2"}}));
	EXPECT_EQ(records[1].line, 8u);
	EXPECT_EQ(records[1].values, (values{{"uid", "b"}}));
	EXPECT_EQ(said, "");
}

TEST_F(LdifTest, JoinsFoldedLinesAndSkipsComments)
{
	read("# a comment\n  that is folded\ndn: uid=a,\n dc=x\n#another\nuid: a\ncn: one\n  two\n"
	     " three\n");
	ASSERT_EQ(records.size(), 1u);
	EXPECT_EQ(records[0].dn, "uid=a,dc=x");
	EXPECT_EQ(records[0].values, (values{{"uid", "a"}, {"cn", "one twothree"}}));
	EXPECT_EQ(bad, 0u);
}

TEST_F(LdifTest, ReadsCarriageReturns)
{
	read("dn: uid=a\r\nuid: a\r\n\r\ndn: uid=b\r\nuid: b\r\n");
	ASSERT_EQ(records.size(), 2u);
	EXPECT_EQ(records[1].values, (values{{"uid", "b"}}));
}

TEST_F(LdifTest, DecodesBase64)
{
	read("dn:: dWlkPWE=\nuid: a\nempty::\none:: YQ==\ntwo:: YWI=\nthree:: YWJj\n"
	     "nul:: AAH/\nfolded:: YW\n Jj\n");
	ASSERT_EQ(records.size(), 1u);
	EXPECT_EQ(records[0].dn, "uid=a");
	EXPECT_EQ(records[0].values, (values{{"uid", "a"},
					     {"empty", ""},
					     {"one", "a"},
					     {"two", "ab"},
					     {"three", "abc"},
					     {"nul", std::string("\0\x01\xff", 3)},
					     {"folded", "abc"}}));
}

TEST_F(LdifTest, SkipsBadAttributeLines)
{
	EXPECT_EQ(read("dn: uid=a\nuid: a\nno colon here\nb@d: type\nx:: YQ=\ny:: Y$==\n"
		       "z:< file:///etc/motd\ndn: uid=b\ncn: good\n"),
		  SOURCE_END);
	ASSERT_EQ(records.size(), 1u);
	EXPECT_EQ(records[0].values, (values{{"uid", "a"}, {"cn", "good"}}));
	EXPECT_EQ(bad, 6u);
	EXPECT_TRUE(complained(3, "no ':' in the line"));
	EXPECT_TRUE(complained(4, "this is no attribute type"));
	EXPECT_TRUE(complained(5, "the value is no base64"));
	EXPECT_TRUE(complained(6, "the value is no base64"));
	EXPECT_TRUE(complained(7, "values from URLs"));
	EXPECT_TRUE(complained(8, "a second DN in one record"));
}

TEST_F(LdifTest, SkipsRecordsWithABadDn)
{
	read("uid: a\ndn: uid=a\n\ndn: nothing\nuid: x\n\ndn:\nuid: x\n\ndn: =x\nuid: x\n\n"
	     "dn: uid=a\\zz\nuid: x\n\ndn: uid=lonely\n\ndn: uid=good\nuid: good\n");
	ASSERT_EQ(records.size(), 1u);
	EXPECT_EQ(records[0].dn, "uid=good");
	EXPECT_EQ(bad, 6u);
	EXPECT_TRUE(complained(1, "the record does not start with its DN"));
	EXPECT_TRUE(complained(4, "this is no DN"));
	EXPECT_TRUE(complained(16, "an entry without attributes"));
}

TEST_F(LdifTest, SkipsChangeRecordsAndUnknownVersions)
{
	read("version: 2\n\ndn: uid=a\nchangetype: delete\nuid: x\n\ndn: uid=b\nuid: b\n\n"
	     "version: 1\n");
	ASSERT_EQ(records.size(), 1u);
	EXPECT_EQ(records[0].dn, "uid=b");
	EXPECT_EQ(bad, 3u);
	EXPECT_TRUE(complained(1, "an unknown LDIF version"));
	EXPECT_TRUE(complained(4, "this is a change record"));
	EXPECT_TRUE(complained(10, "the version stands only before the first record"));
}

TEST_F(LdifTest, ShowsHowManyComplaintsItKeptBack)
{
	std::string content = "dn: uid=a\nuid: a\n";

	for (int i = 0; i < 50; i++)
		content += "bad\n";
	read(content);
	EXPECT_EQ(bad, 50u);
	EXPECT_NE(said.find("30 more bad lines"), std::string::npos);
	ASSERT_EQ(records.size(), 1u);
}

TEST_F(LdifTest, ReadsEmptyFilesAndBytesOfAnyKind)
{
	EXPECT_EQ(read(""), SOURCE_END);
	EXPECT_EQ(read("\n\n\n"), SOURCE_END);
	EXPECT_EQ(read(" starts with a blank\n"), SOURCE_END);
	EXPECT_EQ(bad, 1u);
	EXPECT_EQ(read(std::string("dn: uid=a\nuid: a\ncn: \0x\n", 24)), SOURCE_END);
	EXPECT_EQ(bad, 1u);
	EXPECT_TRUE(complained(3, "a NUL byte"));
}

TEST(RdnTest, ValueIsUnescapedAndLowerCase)
{
	const std::map<std::string, std::string> cases = {
		{"cn=Ada,dc=x", "ada"},
		{"cn= Ada Lovelace", "ada lovelace"},
		{"cn=a\\,b,dc=x", "a,b"},
		{"cn=g\\+\\+,ou=devel", "g++"},
		{"cn=\\c3\\b6", "\xc3\xb6"},
		{"cn=", ""},
		{"=x", ""},
		{"x", ""},
		{"cn=broken\\", ""},
		{"cn=" + std::string(300, 'a'), ""},
	};

	for (const auto &one : cases) {
		char value[256];
		size_t type_length = 0;
		size_t length = record_rdn_value(one.first.data(), one.first.size(), &type_length,
						 value, sizeof(value));

		EXPECT_EQ(std::string(value, length), one.second) << one.first;
		EXPECT_EQ(type_length, length ? 2u : type_length) << one.first;
	}
}

} /* namespace */
