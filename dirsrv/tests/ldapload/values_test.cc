/* SPDX-License-Identifier: MIT */
/* Values of ranges and files, the DNs of values, and the mix of operations. */
extern "C" {
#include "args.h"
}

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <unistd.h>

namespace
{

class LdapLoadValues : public ::testing::Test
{
protected:
	/* What values_parse() or values_read() says; "" when it accepts the text. */
	std::string parse(const char *text)
	{
		return values_parse(&values_, text, error_, sizeof(error_)) ? error_ : "";
	}

	std::string read(const std::string &contents)
	{
		char path[] = "/tmp/ldapload-XXXXXX";
		int fd = mkstemp(path), status = 0;

		EXPECT_EQ(write(fd, contents.data(), contents.size()), (ssize_t)contents.size());
		close(fd);
		status = values_read(&values_, path, error_, sizeof(error_));
		unlink(path);
		return status ? error_ : "";
	}

	std::string value(uint64_t index)
	{
		char value[VALUE_MAX];

		values_get(&values_, index, value);
		return value;
	}

	struct values values_ = {};
	char error_[512] = "";
};

TEST_F(LdapLoadValues, RangeHasItsFirstAndLastNumber)
{
	ASSERT_EQ(parse("user%06u:7-12"), "");
	EXPECT_EQ(values_.count, 6u);
	EXPECT_EQ(value(0), "user000007");
	EXPECT_EQ(value(5), "user000012");
}

TEST_F(LdapLoadValues, FormatMayHaveASuffixAndNoWidth)
{
	ASSERT_EQ(parse("a%u:b:99-100"), "");
	EXPECT_EQ(value(0), "a99:b");
	EXPECT_EQ(value(1), "a100:b");
}

TEST_F(LdapLoadValues, RangeWithoutOneNumberFormatIsRefused)
{
	for (const char *text :
	     {"user:0-9", "%s:0-9", "%u%u:0-9", "%0u:0-9", "%099u:0-9", "%d:0-9", "user%", "user%u",
	      "%u:9", "%u:9-8", "%u:-1-8", "%u:0-9x", "%:0-9", "%u:0-99999999999999999999", ""})
		EXPECT_NE(parse(text).find("accepted: FORMAT:FIRST-LAST"), std::string::npos)
			<< text;
}

TEST_F(LdapLoadValues, LineMayNameTheEntryAbove)
{
	char value[VALUE_MAX];

	ASSERT_EQ(read("one\nbash\tou=shells,dc=packages\r\n"), "");
	EXPECT_EQ(values_get(&values_, 0, value), nullptr);
	EXPECT_STREQ(values_get(&values_, 1, value), "ou=shells,dc=packages");
	EXPECT_STREQ(value, "bash");
}

TEST_F(LdapLoadValues, LineWithoutAValueBeforeTheTabIsRefused)
{
	EXPECT_NE(read("\tou=shells").find("without a value"), std::string::npos);
}

TEST_F(LdapLoadValues, FileHasAValueOnEachLine)
{
	ASSERT_EQ(read("one\r\n\ntwo words\nthree"), "");
	ASSERT_EQ(values_.count, 3u);
	EXPECT_EQ(value(0), "one");
	EXPECT_EQ(value(1), "two words");
	EXPECT_EQ(value(2), "three");
}

TEST_F(LdapLoadValues, FileWithoutAUsableValueIsRefused)
{
	EXPECT_NE(read("\n\n").find("has no value"), std::string::npos);
	EXPECT_NE(read(std::string(300, 'x')).find("longer than 255 bytes"), std::string::npos);
	EXPECT_EQ(values_read(&values_, "/nonexistent", error_, sizeof(error_)), -1);
	EXPECT_STREQ(error_, "/nonexistent: No such file or directory");
}

TEST_F(LdapLoadValues, DnHasSpecialCharactersEscaped)
{
	char dn[DN_MAX];

	dn_print(dn, "cn", " a,b+c\"d\\e<f>g;h=i ", "dc=x");
	EXPECT_STREQ(dn, "cn=\\ a\\,b\\+c\\\"d\\\\e\\<f\\>g\\;h\\=i\\ ,dc=x");
	dn_print(dn, "uid", "#1", "");
	EXPECT_STREQ(dn, "uid=\\#1");
}

/* ---- the mix ---- */

class LdapLoadMix : public ::testing::Test
{
protected:
	std::string parse(const char *text)
	{
		return mix_parse(&mix_, text, error_, sizeof(error_)) ? error_ : "";
	}

	struct mix mix_ = {};
	char error_[512] = "";
};

TEST_F(LdapLoadMix, KindWithoutAWeightHasOne)
{
	ASSERT_EQ(parse("search=70,modify,add=29"), "");
	EXPECT_EQ(mix_.weight[KIND_SEARCH], 70u);
	EXPECT_EQ(mix_.weight[KIND_MODIFY], 1u);
	EXPECT_EQ(mix_.weight[KIND_ADD], 29u);
	EXPECT_EQ(mix_.total, 100u);
}

TEST_F(LdapLoadMix, ChoosesEachKindByItsWeight)
{
	unsigned chosen[MIX_COUNT] = {};

	ASSERT_EQ(parse("search=7,base=2,bind"), "");
	for (uint64_t i = 0; i < 100; i++)
		chosen[mix_choose(&mix_, i)]++;
	EXPECT_EQ(chosen[KIND_SEARCH], 70u);
	EXPECT_EQ(chosen[KIND_BASE], 20u);
	EXPECT_EQ(chosen[KIND_BIND], 10u);
}

TEST_F(LdapLoadMix, OtherTextIsRefusedWithWhatIsAccepted)
{
	for (const char *text : {"searches", "search=0", "search=-1", "search=1x", "search=", "",
				 "search=1000001", "delete=1", "connect", ",search"})
		EXPECT_NE(parse(text).find("accepted: KIND=WEIGHT"), std::string::npos) << text;
	EXPECT_NE(parse("base,base=2").find("'base=2' is there twice"), std::string::npos);
}

} // namespace
