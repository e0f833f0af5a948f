/* SPDX-License-Identifier: MIT */
/* Loading LDIF. */
#include "directory.h"

namespace ldapd_test
{

class LdifTest : public testing::Test
{
protected:
	std::string write(const std::string &text)
	{
		std::string path = files.path + "/in.ldif";

		std::ofstream(path) << text;
		return path;
	}

	long load(const std::string &path)
	{
		char text[256] = "";
		long added =
			backend_load(d.backend, path.c_str(), nullptr, nullptr, text, sizeof(text));

		error = text;
		return added;
	}

	folder files;
	directory d;
	std::string error;
};

static const char *const three = "dn: dc=example\nobjectClass: domain\ndc: example\n\n"
				 "dn: ou=a,dc=example\nobjectClass: organizationalUnit\nou: a\n\n"
				 "dn: cn=x,ou=a,dc=example\nobjectClass: device\ncn: x\n"
				 "description:: w6TDtsO8IA==\n\n";

TEST_F(LdifTest, TheFirstEntryIsTheNamingContextOfAnEmptyDatabase)
{
	folder db;

	d.any_suffix = true;
	ASSERT_TRUE(d.open(db.path)) << d.error;
	EXPECT_EQ(backend_suffix(d.backend), nullptr);
	EXPECT_EQ(d.person("ann"), LDAP_UNWILLING_TO_PERFORM);
	ASSERT_EQ(load(write(three)), 3) << error;
	EXPECT_STREQ(backend_suffix(d.backend), "dc=example");
	d.close();
	ASSERT_TRUE(d.open(db.path)) << d.error;
	EXPECT_STREQ(backend_suffix(d.backend), "dc=example");
	EXPECT_EQ(d.person("ann", {}, "ou=a,dc=example"), LDAP_SUCCESS);
}

TEST_F(LdifTest, TheNamingContextStaysWhenTheMapGrowsMeanwhile)
{
	folder db;

	d.any_suffix = true;
	d.config.map_bytes = 32 << 10;
	ASSERT_TRUE(d.open(db.path)) << d.error;
	ASSERT_EQ(load(write(std::string(three) +
			     "dn: cn=y,ou=a,dc=example\nobjectClass: device\n"
			     "description: " +
			     std::string(100000, 'y') + "\n\n")),
		  4)
		<< error;
	EXPECT_GT(d.stats().map_growths, 0u);
	d.close();
	ASSERT_TRUE(d.open(db.path)) << d.error;
	EXPECT_STREQ(backend_suffix(d.backend), "dc=example");
}

TEST_F(LdifTest, TheDatabaseKeepsTheNamingContextOfTheConfiguration)
{
	folder db;

	ASSERT_TRUE(d.open(db.path)) << d.error;
	d.close();
	d.any_suffix = true;
	ASSERT_TRUE(d.open(db.path)) << d.error;
	EXPECT_STREQ(backend_suffix(d.backend), "dc=example");
}

TEST_F(LdifTest, WhatCannotBeAddedIsReportedAndSkipped)
{
	ASSERT_TRUE(d.open(""));
	testing::internal::CaptureStderr();
	EXPECT_EQ(load(write(std::string(three) +
			     "dn: cn=y,ou=b,dc=example\nobjectClass: device\ncn: y\n\n"
			     "dn: cn=z,ou=a,dc=example\nobjectClass: person\nmanager: z\n\n"
			     "dn: cn=x,ou=a,dc=example\nobjectClass: device\ncn: x\n")),
		  3);
	std::string said = testing::internal::GetCapturedStderr();
	EXPECT_NE(said.find("in.ldif:14: cn=y,ou=b,dc=example: No such object; this entry is "
			    "skipped"),
		  std::string::npos)
		<< said;
	EXPECT_NE(said.find("in.ldif:18: cn=z,ou=a,dc=example: Invalid syntax: manager: value #0 "
			    "invalid per syntax"),
		  std::string::npos)
		<< said;
	EXPECT_NE(said.find("in.ldif:22: "), std::string::npos) << said;
}

TEST_F(LdifTest, AFileThatCannotBeReadGetsOneSentence)
{
	ASSERT_TRUE(d.open(""));
	EXPECT_EQ(load(files.path + "/none"), -1);
	EXPECT_EQ(error, files.path + "/none: cannot be read: No such file or directory");
}

TEST_F(LdifTest, ADatabaseWithAPartOfTheEntriesIsNotServed)
{
	std::ostringstream text;
	folder db;
	char why[256];

	text << "dn: dc=example\nobjectClass: domain\ndc: example\n\n";
	for (int i = 0; i < 2500; i++)
		text << "dn: cn=c" << i << ",dc=example\nobjectClass: device\ncn: c" << i << "\n\n";
	std::string path = write(text.str());
	ASSERT_TRUE(d.open(db.path)) << d.error;
	EXPECT_EQ(backend_load(
			  d.backend, path.c_str(), [](uint64_t, void *) { return false; }, nullptr,
			  why, sizeof(why)),
		  -1);
	EXPECT_EQ(std::string(why), path + ": loading ended after 1000 entries");
	d.close();
	EXPECT_FALSE(d.open(db.path));
	EXPECT_EQ(d.error, db.path + ": loading this database did not end; remove its files, and "
				     "load again");
}

TEST_F(LdifTest, ManyEntriesComeInTransactionsOfAThousand)
{
	std::ostringstream text;
	std::vector<uint64_t> progress;
	char why[256];

	text << "dn: dc=example\nobjectClass: domain\ndc: example\n\n";
	for (int i = 0; i < 2500; i++)
		text << "dn: cn=c" << i << ",dc=example\nobjectClass: device\ncn: c" << i << "\n\n";
	ASSERT_TRUE(d.open(""));
	EXPECT_EQ(backend_load(
			  d.backend, write(text.str()).c_str(),
			  [](uint64_t entries, void *arg) {
				  static_cast<std::vector<uint64_t> *>(arg)->push_back(entries);
				  return true;
			  },
			  &progress, why, sizeof(why)),
		  2501)
		<< why;
	EXPECT_EQ(progress, std::vector<uint64_t>({1000, 2000, 2501}));
	EXPECT_EQ(d.stats().entries, 2501u);
}

} // namespace ldapd_test
