/* SPDX-License-Identifier: MIT */
/* --make-ldif: its entries, and values that need base64. */
extern "C" {
#include "ldif.h"
}

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace
{

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

} // namespace
