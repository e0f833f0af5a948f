/* SPDX-License-Identifier: MIT */
/* The command line: defaults, values, and what is said about wrong ones. */
extern "C" {
#include "args.h"
#include "server.h"
}

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <sys/un.h>
#include <vector>

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
	ASSERT_EQ(parse({"-H",     "ldap://h:1", "-D",     "cn=a",     "-w",
			 "p",      "-b",         "dc=x",   "-c",       "100",
			 "-t",     "4",          "--idle", "4000",     "--per-connection",
			 "10",     "--rate",     "0.5",    "--accept", "51,empty",
			 "--json", "--warm-up",  "0"}),
		  -1);
	EXPECT_STREQ(args_.uri, "ldap://h:1");
	EXPECT_STREQ(args_.password, "p");
	EXPECT_EQ(args_.idle, 4000u);
	EXPECT_EQ(args_.per_connection, 10u);
	EXPECT_EQ(args_.rate, 0.5);
	ASSERT_EQ(args_.accepted.count, 2u);
	EXPECT_EQ(args_.accepted.codes[0], 51);
	EXPECT_EQ(args_.accepted.codes[1], CODE_EMPTY);
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
	expect_refused({"--accept", "x"}, "--accept takes result codes");
	/* The number that stands for "empty"; nothing behind its end is read. */
	expect_refused({"--accept", "-100\0"}, "--accept takes result codes");
	expect_refused({"--mix", "x"}, "accepted: KIND=WEIGHT");
	expect_refused({"--values", "x"}, "accepted: FORMAT:FIRST-LAST");
	expect_refused({"--values-from", "/nonexistent"}, "/nonexistent: No such file");
	expect_refused({"-y", "/nonexistent"}, "--password-file /nonexistent: No such file");
	expect_refused({"-y", "/dev/null"}, "it is empty");
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
	EXPECT_GT(options_in(help, "--").size(), 20u);
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

} // namespace
