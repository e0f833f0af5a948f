/* SPDX-License-Identifier: MIT */
/* Evaluation of filters: the three values, matching rules; text of filters. */
#include "directory.h"

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
		"(createTimestamp=20260102040405+01)", "(createTimestamp=20260102030405.0Z)",
		"(userPassword=Secret)", "(colour=red)", "(entryDN=UID=ann, dc=example)",
		"(sn=doe)", "(cn=ann\\20doe)"});
	expect(FILTER_FALSE, {"(cn=anndoe)", "(homeDirectory=/home/ann)", "(userPassword=secret)",
			      "(sn=do)", "(manager=cn=bos,dc=example)", "(uidNumber=20)",
			      "(mail=x)", "(entryDN=dc=example)", "(uid=bo)"});
}

TEST_F(FilterTest, WhatCannotBeEvaluatedIsUndefined)
{
	expect(FILTER_RESULT_UNDEFINED,
	       {"(nothing=x)", "(nothing=*)", "(!(nothing=x))", "(uidNumber=x)", "(manager=x)",
		"(jpegPhoto=p)", "(cn>=a)", "(uidNumber=2*)", "(cn:=x)", "(a b=x)", "(cn=)",
		"(objectClass=unheardOf)", "(createTimestamp=yesterday)"});
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
			      "(createTimestamp<=2025123123Z)", "(colour<=blue)"});
}

TEST_F(FilterTest, ASupertypeMatchesItsSubtypes)
{
	expect(FILTER_TRUE,
	       {"(name=ann doe)", "(name=doe)", "(name=*)", "(objectClass=person)",
		"(objectClass=top)", "(objectClass=2.5.6.6)", "(objectClass=INETORGPERSON)"});
	expect(FILTER_FALSE, {"(name=ann)", "(objectClass=device)", "(distinguishedName=*)"});
}

TEST_F(FilterTest, OptionsOfTheFilterMustAllBeThere)
{
	expect(FILTER_TRUE, {"(description=gr\xc3\x9c\xc3\x9f"
			     "e)",
			     "(description;lang-de=*)", "(description;X-Y;lang-de=*)"});
	expect(FILTER_FALSE, {"(description;lang-fr=*)", "(cn;lang-de=*)", "(mail;lang-de=*)"});
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

TEST_F(FilterTest, TheTextOfAFilterIsThatOfRfc4515)
{
	for (const char *text : {"(&(cn=a*b*c)(|(!(sn=x))(uid>=1)(uid<=2)(uid~=3)(uid=*)))",
				 "(cn=\\2a\\00\\29)", "(cn=*a*)", "(&)", "(cn:=x)"}) {
		filter_text filter(text);
		char out[128];

		EXPECT_EQ(filter_print(filter.get(), out, sizeof(out)), strlen(text));
		EXPECT_STREQ(out, text);
		EXPECT_EQ(filter_print(filter.get(), out, 4), strlen(text));
		EXPECT_EQ(std::string(out), std::string(text).substr(0, 3));
	}
}

} // namespace ldapd_test
