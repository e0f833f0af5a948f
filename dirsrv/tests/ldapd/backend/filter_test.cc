/* SPDX-License-Identifier: MIT */
/* Evaluation of filters: the three values, matching rules; the schema. */
#include "directory.h"

extern "C" {
#include "schema/dn.h"
#include "schema/schema.h"
}

namespace ldapd_test
{

class FilterTest : public testing::Test
{
protected:
	void SetUp() override
	{
		ASSERT_EQ(filter_start(), 0);
		pool = dirsrv_entry_pool_create("filter_test", dirsrv_test::flavour());
		entry = dirsrv_test::make(pool, "uid=ann,dc=example",
					  {{"objectClass", "inetOrgPerson"},
					   {"uid", "ann"},
					   {"cn", "Ann  Doe"},
					   {"cn", "J\xc3\x84GER"},
					   {"sn", "Doe"},
					   {"description;lang-de;x-y", "Gr\xc3\xbc\xc3\x9f"
								       "e"},
					   {"telephoneNumber", "+49 30-12 34"},
					   {"uidNumber", "-20"},
					   {"homeDirectory", "/home/Ann"},
					   {"manager", "CN=Boss , DC=example"},
					   {"createTimestamp", "20260102030405Z"},
					   {"userPassword", "Secret"},
					   {"jpegPhoto", "p"},
					   {"labeledURI", "http://x"},
					   {"colour", "Red"}});
	}
	void TearDown() override
	{
		dirsrv_entry_put(entry);
		EXPECT_EQ(dirsrv_entry_pool_destroy(pool), 0);
		EXPECT_EQ(filter_stop(), 0);
	}

	enum filter_result matches(const std::string &text)
	{
		filter_text filter(text);

		EXPECT_EQ(filter_prepare(filter.get()), 0);
		return filter_matches(filter.get(), entry);
	}

	void expect(enum filter_result result, const strings &texts)
	{
		for (const std::string &text : texts)
			EXPECT_EQ(matches(text), result) << text;
	}

	known_thread known;
	struct dirsrv_entry_pool *pool = nullptr;
	struct dirsrv_entry *entry = nullptr;
};

TEST_F(FilterTest, EqualityFollowsTheMatchingRuleOfTheType)
{
	expect(FILTER_TRUE,
	       {"(cn=ann doe)", "(cn= ANN   DOE )", "(CommonName=ann doe)", "(2.5.4.3=ann doe)",
		"(cn=j\xc3\xa4ger)", "(cn~=ann doe)", "(telephoneNumber=+49301234)",
		"(uidNumber=-20)", "(homeDirectory=/home/Ann)", "(manager=cn=boss,dc=EXAMPLE)",
		"(createTimestamp=20260102030405z)", "(userPassword=Secret)", "(colour=red)",
		"(sn=doe)", "(cn=ann\\20doe)"});
	expect(FILTER_FALSE,
	       {"(cn=anndoe)", "(homeDirectory=/home/ann)", "(userPassword=secret)", "(sn=do)",
		"(manager=cn=bos,dc=example)", "(uidNumber=20)", "(mail=x)", "(uid=bo)"});
}

TEST_F(FilterTest, WhatCannotBeEvaluatedIsUndefined)
{
	expect(FILTER_RESULT_UNDEFINED,
	       {"(nothing=x)", "(nothing=*)", "(!(nothing=x))", "(uidNumber=x)", "(manager=x)",
		"(jpegPhoto=p)", "(cn>=a)", "(uidNumber=2*)", "(cn:=x)", "(a b=x)", "(cn=)",
		"(objectClass=unheardOf)"});
}

TEST_F(FilterTest, AndOrNotHaveThreeValues)
{
	const std::string t = "(uid=ann)", f = "(uid=bo)", u = "(nothing=x)";

	expect(FILTER_TRUE, {"(&)", "(&" + t + t + ")", "(|" + f + u + t + ")", "(!" + f + ")"});
	expect(FILTER_FALSE, {"(|)", "(&" + t + u + f + ")", "(|" + f + f + ")", "(!" + t + ")",
			      "(&" + u + f + ")"});
	expect(FILTER_RESULT_UNDEFINED,
	       {"(&" + t + u + ")", "(&" + u + t + ")", "(|" + f + u + ")", "(|" + u + f + ")",
		"(!" + u + ")", "(!(&" + t + u + "))"});
}

TEST_F(FilterTest, SubstringsStandInTheirOrder)
{
	expect(FILTER_TRUE, {"(cn=an*)", "(cn=*doe)", "(cn=*n d*)", "(cn=A*n*d*E)", "(cn=*)",
			     "(cn=ann *oe)", "(cn=*j\xc3\xa4*)", "(telephoneNumber=*3 01*)",
			     "(labeledURI=http://*)", "(uid=a*n)", "(uid=ann*)"});
	expect(FILTER_FALSE, {"(cn=doe*)", "(cn=*ann)", "(cn=*d*n*)", "(uid=a*nn*n)",
			      "(uid=ann*ann)", "(labeledURI=HTTP://*)", "(uid=*b*)"});
}

TEST_F(FilterTest, OrderIsThatOfTheValues)
{
	expect(FILTER_TRUE, {"(uidNumber<=-3)", "(uidNumber>=-100)", "(uidNumber<=0)",
			     "(uidNumber>=-20)", "(createTimestamp>=20260101000000Z)",
			     "(createTimestamp<=20260102030406Z)", "(colour>=blue)"});
	expect(FILTER_FALSE, {"(uidNumber>=-3)", "(uidNumber>=5)", "(uidNumber<=-21)",
			      "(createTimestamp<=20251231230000Z)", "(colour<=blue)"});
}

TEST_F(FilterTest, ASuperclassMatchesItsSubclasses)
{
	expect(FILTER_TRUE, {"(objectClass=person)", "(objectClass=top)", "(objectClass=2.5.6.6)",
			     "(objectClass=INETORGPERSON)"});
	expect(FILTER_FALSE, {"(objectClass=device)"});
}

TEST_F(FilterTest, ATypeWithOptionsIsATypeOfItsOwn)
{
	expect(FILTER_TRUE, {"(description;LANG-de;x-y=gr\xc3\x9c\xc3\x9f"
			     "e)"});
	expect(FILTER_FALSE, {"(description=*)"});
	expect(FILTER_RESULT_UNDEFINED, {"(description;lang-de=*)", "(cn;=*)"});
}

TEST_F(FilterTest, ATreeThatIsTooDeepIsRefused)
{
	std::string deep = "(uid=ann)";

	for (unsigned i = 0; i < FILTER_DEPTH_MAX - 1; i++)
		deep = "(&" + deep + ")";
	EXPECT_EQ(matches(deep), FILTER_TRUE);
	filter_text deeper("(&" + deep + ")");
	EXPECT_EQ(filter_prepare(deeper.get()), -E2BIG);
}

/* --- the schema: normal forms of values and DNs --- */

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
