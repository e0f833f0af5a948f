/* SPDX-License-Identifier: MIT */
/* The command line: defaults, values, what is said about wrong ones; URIs, values, the mix. */
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <sys/un.h>
#include <vector>

extern "C" {
#include "args.h"
#include "server.h"
}

namespace
{

class LdapLoadArgs : public ::testing::Test
{
protected:
	int parse(std::vector<const char *> words)
	{
		words.insert(words.begin(), "ldapload");
		testing::internal::CaptureStderr();
		int status =
			args_parse(&args_, (int)words.size(), const_cast<char **>(words.data()));
		error_ = testing::internal::GetCapturedStderr();
		return status;
	}

	/* One line, with the exit status of wrong usage. */
	void expect_refused(std::vector<const char *> words, const std::string &part)
	{
		EXPECT_EQ(parse(words), 2) << words[0];
		EXPECT_NE(error_.find(part), std::string::npos) << error_;
		EXPECT_EQ(error_.find('\n'), error_.size() - 1) << error_;
	}

	struct args args_;
	std::string error_;
};

TEST_F(LdapLoadArgs, DefaultsAreThoseOfTheHelp)
{
	ASSERT_EQ(parse({}), -1);
	EXPECT_STREQ(args_.uri, "ldap://127.0.0.1:389");
	EXPECT_STREQ(args_.bind_dn, "");
	EXPECT_EQ(args_.connections, 10u);
	EXPECT_EQ(args_.threads, 1u);
	EXPECT_EQ(args_.depth, 1u);
	EXPECT_EQ(args_.seconds, 10);
	EXPECT_EQ(args_.operations, 0u);
	EXPECT_EQ(args_.values.count, 10000u);
	EXPECT_EQ(args_.mix.weight[KIND_SEARCH], args_.mix.total);
	EXPECT_FALSE(args_.json);
}

TEST_F(LdapLoadArgs, ValuesOfOptionsAreTaken)
{
	ASSERT_EQ(parse({"-H", "ldap://h:1", "-D",     "cn=a",   "-w",
			 "p",  "-b",         "dc=x",   "-c",     "100",
			 "-t", "4",          "--idle", "4000",   "--per-connection",
			 "10", "--rate",     "0.5",    "--json", "--warm-up",
			 "0"}),
		  -1);
	EXPECT_STREQ(args_.uri, "ldap://h:1");
	EXPECT_STREQ(args_.password, "p");
	EXPECT_EQ(args_.idle, 4000u);
	EXPECT_EQ(args_.per_connection, 10u);
	EXPECT_EQ(args_.rate, 0.5);
	EXPECT_TRUE(args_.json);
}

TEST_F(LdapLoadArgs, WrongValuesAreRefusedWithWhatIsAccepted)
{
	expect_refused({"-c", "0"}, "--connections takes a whole number from 1 to 100000, not '0'");
	expect_refused({"-t", "-1"}, "--threads takes a whole number");
	expect_refused({"--depth", "1x"}, "--depth takes a whole number");
	expect_refused({"--operations", "99999999999999999999"}, "--operations takes");
	expect_refused({"--seconds", "nan"}, "--seconds takes a number from 0.01 to 86400");
	expect_refused({"--rate", "-5"}, "--rate takes a number from 0.01");
	expect_refused({"--mix", "x"}, "accepted: KIND=WEIGHT");
	expect_refused({"--values", "x"}, "accepted: FORMAT:FIRST-LAST");
	expect_refused({"--values-from", "/nonexistent"}, "/nonexistent: No such file");
	expect_refused({"--nothing"}, "'--nothing' is no option of this program");
	expect_refused({"--depth"}, "'--depth' needs a value");
	expect_refused({"file"}, "'file' is not understood");
}

TEST_F(LdapLoadArgs, OptionsThatContradictEachOtherAreRefused)
{
	expect_refused({"-c", "2", "-t", "3"}, "more threads than connections");
	expect_refused({"--mix", "bind,search", "--depth", "2"}, "--mix with bind takes --depth 1");
	expect_refused({"--make-ldif", "1", "--values-from", "/proc/self/comm"},
		       "--make-ldif takes");
}

/* Every --option in the text; `mark` stands before its name. */
std::set<std::string> options_in(const std::string &text, const std::string &mark)
{
	std::set<std::string> found;

	for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
		size_t begin = at + mark.size();
		size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", begin);

		found.insert(text.substr(begin, end - begin));
	}
	return found;
}

TEST_F(LdapLoadArgs, HelpAndManualHaveTheSameOptions)
{
	std::ifstream file(LDAPLOAD_MAN);
	std::string manual((std::istreambuf_iterator<char>(file)), {});

	/* The manual has "H , -uri" for -H, --uri. */
	for (size_t at; (at = manual.find(" , -")) != std::string::npos;)
		manual.replace(at, 3, " Fl ");
	testing::internal::CaptureStdout();
	EXPECT_EQ(parse({"--help"}), 0);
	std::string help = testing::internal::GetCapturedStdout();
	EXPECT_GT(options_in(help, "--").size(), 15u);
	EXPECT_EQ(options_in(help, "--"), options_in(manual, "Fl -"));
}

class LdapLoadUri : public ::testing::Test
{
protected:
	std::string parse(const char *uri)
	{
		return server_parse(&server_, uri, error_, sizeof(error_)) ? error_ : "";
	}

	struct server server_;
	char error_[512] = "";
};

TEST_F(LdapLoadUri, PathOfALocalSocketIsDecoded)
{
	ASSERT_EQ(parse("ldapi://%2Ftmp%2Fa%20b"), "");
	EXPECT_STREQ(((struct sockaddr_un *)&server_.address)->sun_path, "/tmp/a b");
}

TEST_F(LdapLoadUri, OtherSchemesAndPathsAreRefused)
{
	EXPECT_NE(parse("ldaps://h").find("ldaps is not supported; accepted: ldap://"),
		  std::string::npos);
	EXPECT_NE(parse("h:389").find("is no URI; accepted: ldap://"), std::string::npos);
	EXPECT_NE(parse("ldapi:///").find("missing; accepted"), std::string::npos);
	EXPECT_NE(parse(("ldapi://" + std::string(200, 'x')).c_str()).find("too long"),
		  std::string::npos);
	EXPECT_NE(parse("ldap://no.such.host.invalid").find("no.such.host.invalid: "),
		  std::string::npos);
}

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
