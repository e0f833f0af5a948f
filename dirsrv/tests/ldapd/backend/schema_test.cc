/* SPDX-License-Identifier: MIT */
/* The schema: normal forms of values and DNs. What filters make of them: ../answers_test.py. */
#include "../../../../tests/support/test.h"

extern "C" {
#include "schema/dn.h"
#include "schema/schema.h"
}

namespace ldapd_test
{

static std::string normal(enum schema_rule rule, const std::string &value)
{
	struct buffer out = {};
	bool valid = schema_normalize(rule, {value.data(), value.size()}, &out);
	std::string text = valid ? std::string(out.data ? out.data : "", out.length) : "(invalid)";

	buffer_free(&out);
	return text;
}

static std::string normal_dn(const std::string &text)
{
	return normal(SCHEMA_DN, text);
}

TEST(SchemaTest, TextIsFoldedAndItsBlanksAreSqueezed)
{
	EXPECT_EQ(normal(SCHEMA_CASE_IGNORE, "  A  b   C "), "a b c");
	EXPECT_EQ(normal(SCHEMA_CASE_EXACT, "  A  b "), "A b");
	EXPECT_EQ(normal(SCHEMA_CASE_IGNORE, "   "), " ");
	EXPECT_EQ(normal(SCHEMA_CASE_IGNORE, ""), "(invalid)");
	EXPECT_EQ(normal(SCHEMA_CASE_IGNORE, "\xc3\x84\xce\x91\xd0\x96\xc5\xa0\xc3\x97"),
		  "\xc3\xa4\xce\xb1\xd0\xb6\xc5\xa1\xc3\x97");
	/* Not UTF-8: kept as it is. */
	EXPECT_EQ(normal(SCHEMA_CASE_IGNORE, "\xc3"), "\xc3");
	EXPECT_EQ(normal(SCHEMA_TELEPHONE, "+49 (30) 1-2"), "+49(30)12");
}

TEST(SchemaTest, BytesThatAreNoUtf8StayAsTheyAre)
{
	EXPECT_EQ(normal(SCHEMA_CASE_IGNORE, "\xc3"
					     "a"),
		  "\xc3"
		  "a");
	EXPECT_EQ(normal(SCHEMA_CASE_IGNORE, "\xc3\x84"), "\xc3\xa4");
}

TEST(SchemaTest, NormalIntegersAreInTheOrderOfTheNumbers)
{
	const std::vector<std::string> order = {"-1000000000000000000000",
						"-100",
						"-99",
						"-10",
						"-9",
						"-1",
						"0",
						"1",
						"9",
						"10",
						"99",
						"100",
						"1000000000000000000000"};

	for (size_t i = 1; i < order.size(); i++)
		EXPECT_LT(normal(SCHEMA_INTEGER, order[i - 1]), normal(SCHEMA_INTEGER, order[i]));
	for (const char *wrong : {"", "-", "-0", "01", "1x", "+1", " 1"})
		EXPECT_EQ(normal(SCHEMA_INTEGER, wrong), "(invalid)") << wrong;
}

TEST(SchemaTest, OtherSyntaxes)
{
	EXPECT_EQ(normal(SCHEMA_OID, "2.5.6.6"), "person");
	EXPECT_EQ(normal(SCHEMA_OID, "Unknown"), "unknown");
	EXPECT_EQ(normal(SCHEMA_OCTETS, " A "), " A ");
}

TEST(SchemaTest, ADnHasOneNormalForm)
{
	const std::string form = normal_dn("cn=a b,dc=example");

	for (const char *same :
	     {"CN=A B,DC=Example", " cn = a  b , dc = example ", "commonName=a\\20b,dc=example",
	      "2.5.4.3=\\61 b,0.9.2342.19200300.100.1.25=example"})
		EXPECT_EQ(normal_dn(same), form) << same;
	for (const char *other : {"cn=ab,dc=example", "cn=a b+dc=example", "cn=a b\\,dc=example",
				  "sn=a b,dc=example", "cn=a b"})
		EXPECT_NE(normal_dn(other), form) << other;
	EXPECT_EQ(normal_dn("cn=b+sn=a"), normal_dn("sn=A + cn=B"));
	EXPECT_EQ(normal_dn(""), "");
	EXPECT_NE(normal_dn("cn=,dc=x"), "(invalid)");
	for (const char *wrong :
	     {"cn", "cn=a,", ",cn=a", "cn=a,,dc=b", "=a", "cn=a\\", "cn=a+", "+cn=a", "c n=a"})
		EXPECT_EQ(normal_dn(wrong), "(invalid)") << wrong;
}

TEST(SchemaTest, ADnThatIsTooLongIsRefused)
{
	auto rdns = [](int n) {
		std::string dn = "cn=a";

		while (--n)
			dn += ",cn=a";
		return normal_dn(dn);
	};

	EXPECT_NE(rdns(1000), "(invalid)");
	EXPECT_EQ(rdns(1001), "(invalid)");
	EXPECT_NE(normal_dn("cn=" + std::string(DIRSRV_DN_MAX - 3, 'a')), "(invalid)");
	EXPECT_EQ(normal_dn("cn=" + std::string(DIRSRV_DN_MAX - 2, 'a')), "(invalid)");
}

TEST(SchemaTest, ADnIsUnderAnotherByWholeRdns)
{
	auto under = [](const std::string &below, const std::string &above) {
		std::string a = normal_dn(below), b = normal_dn(above);

		return dn_under({a.data(), a.size()}, {b.data(), b.size()});
	};

	EXPECT_TRUE(under("cn=a,dc=b", "dc=B"));
	EXPECT_TRUE(under("cn=a,ou=c,dc=b", "dc=b"));
	EXPECT_TRUE(under("dc=b", ""));
	EXPECT_FALSE(under("dc=b", "dc=b"));
	EXPECT_FALSE(under("dc=ab", "c=ab"));
	EXPECT_FALSE(under("cn=a\\,dc=b", "dc=b"));
	EXPECT_FALSE(under("dc=b", "cn=a,dc=b"));
}

TEST(SchemaTest, TheRootHasNoParent)
{
	/* What dn_normalize() leaves of "" in a buffer without memory. */
	EXPECT_EQ(0u, dn_normal_parent({nullptr, 0}).length);
}

} // namespace ldapd_test
