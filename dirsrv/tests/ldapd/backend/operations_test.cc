/* SPDX-License-Identifier: MIT */
/* The operations of the backend that write, and compare: what they change, and their results. */
#include "directory.h"

namespace ldapd_test
{

class OperationsTest : public testing::Test
{
protected:
	void SetUp() override
	{
		ASSERT_TRUE(d.open("")) << d.error;
		d.plant();
	}

	directory d;
	const std::string ann = "uid=ann,ou=people,dc=example";
};

TEST_F(OperationsTest, AnAddedEntryIsFoundWithItsValuesAndStamps)
{
	ASSERT_EQ(d.person("ann", {{"mail", "ann@example.com"}, {"mail", "a@example.com"}}),
		  LDAP_SUCCESS)
		<< d.result.message;
	EXPECT_EQ(d.values(ann, "mail"), strings({"ann@example.com", "a@example.com"}));
	EXPECT_EQ(d.values(ann, "creatorsName"), strings({"cn=admin,dc=example"}));
	EXPECT_EQ(d.values(ann, "entryUUID").at(0).size(), 36u);
	EXPECT_EQ(d.values(ann, "createTimestamp").at(0).size(), 15u);
}

TEST_F(OperationsTest, TheDnOfAnEntryIsFoundInEverySpelling)
{
	d.person("ann");
	EXPECT_TRUE(d.has("UID=Ann, OU=People , DC=Example"));
	EXPECT_TRUE(d.has("userid=ann,organizationalUnitName=people,domainComponent=example"));
	EXPECT_TRUE(d.has("uid=\\61nn,ou=people,dc=example"));
	EXPECT_FALSE(d.has("uid=anna,ou=people,dc=example"));
}

TEST_F(OperationsTest, AValueOfTheRdnThatIsMissingIsAdded)
{
	ASSERT_EQ(d.add("cn=printer+l=Rome,dc=example", {{"objectClass", "device"}}), LDAP_SUCCESS)
		<< d.result.message;
	EXPECT_EQ(d.values("l=rome+cn=printer,dc=example", "cn"), strings({"printer"}));
	EXPECT_EQ(d.values("l=rome+cn=printer,dc=example", "l"), strings({"Rome"}));
}

TEST_F(OperationsTest, TypesHaveTheirNamesOfTheSchema)
{
	ASSERT_EQ(d.add("uid=bo,ou=people,dc=example", {{"OBJECTCLASS", "inetOrgPerson"},
							{"commonName", "Bo"},
							{"surname", "B"},
							{"2.5.4.42", "Robert"}}),
		  LDAP_SUCCESS)
		<< d.result.message;
	EXPECT_EQ(d.values("uid=bo,ou=people,dc=example", "givenName"), strings({"Robert"}));
	EXPECT_EQ(d.values("uid=bo,ou=people,dc=example", "cn"), strings({"Bo"}));
}

TEST_F(OperationsTest, AnEntryThatExistsIsNotAddedAgain)
{
	d.person("ann");
	EXPECT_EQ(d.person("ANN"), LDAP_ALREADY_EXISTS);
}

TEST_F(OperationsTest, AddBelowAMissingParentNamesTheNearestEntryAbove)
{
	EXPECT_EQ(d.person("ann", {}, "ou=a,ou=b,ou=people,dc=example"), LDAP_NO_SUCH_OBJECT);
	EXPECT_STREQ(d.result.matched, "ou=people,dc=example");
	EXPECT_EQ(d.person("ann", {}, "dc=elsewhere"), LDAP_UNWILLING_TO_PERFORM);
}

TEST_F(OperationsTest, AddRefusesWhatTheSchemaForbids)
{
	EXPECT_EQ(d.add(ann, {{"uid", "ann"}}), LDAP_OBJECT_CLASS_VIOLATION);
	EXPECT_STREQ(d.result.message, "no objectClass attribute");
	EXPECT_EQ(d.person("ann", {{"mail", "a"}, {"mail", "A "}}), LDAP_TYPE_OR_VALUE_EXISTS);
	EXPECT_EQ(d.person("ann", {{"displayName", "a"}, {"displayName", "b"}}),
		  LDAP_CONSTRAINT_VIOLATION);
	EXPECT_EQ(d.person("ann", {{"manager", "nobody"}}), LDAP_INVALID_SYNTAX);
	EXPECT_STREQ(d.result.message, "manager: value #0 invalid per syntax");
	EXPECT_EQ(d.person("ann", {{"mail", ""}}), LDAP_INVALID_SYNTAX);
	EXPECT_EQ(d.person("ann", {{"entryUUID", "00000000-0000-0000-0000-000000000000"}}),
		  LDAP_CONSTRAINT_VIOLATION);
	EXPECT_EQ(d.person("ann", {{"a b", "c"}}), LDAP_UNDEFINED_TYPE);
	EXPECT_EQ(d.person("ann", {{std::string(256, 'a'), "c"}}), LDAP_UNDEFINED_TYPE);
	EXPECT_EQ(d.person("ann", {{"description", std::string(DIRSRV_VALUE_MAX + 1, 'a')}}),
		  LDAP_CONSTRAINT_VIOLATION);
	EXPECT_EQ(d.person(std::string(DIRSRV_DN_MAX, 'a')), LDAP_INVALID_DN_SYNTAX);
	EXPECT_EQ(d.add("uid,dc=example", {{"objectClass", "account"}}), LDAP_INVALID_DN_SYNTAX);
	EXPECT_FALSE(d.has(ann));
}

TEST_F(OperationsTest, TypesAndClassesThatTheSchemaDoesNotKnowAreAccepted)
{
	ASSERT_EQ(d.add("cn=x,dc=example",
			{{"objectClass", "debianPackage"}, {"cn", "x"}, {"installedSize", "12"}}),
		  LDAP_SUCCESS)
		<< d.result.message;
	EXPECT_EQ(d.values("cn=x,dc=example", "installedsize"), strings({"12"}));
	EXPECT_EQ(d.person("ann", {{"favouriteColour", "red"}}), LDAP_SUCCESS);
}

TEST_F(OperationsTest, OnlyLeavesAreDeleted)
{
	d.person("ann");
	EXPECT_EQ(d.remove("ou=people,dc=example"), LDAP_NOT_ALLOWED_ON_NONLEAF);
	EXPECT_EQ(d.remove(ann), LDAP_SUCCESS);
	EXPECT_EQ(d.remove(ann), LDAP_NO_SUCH_OBJECT);
	EXPECT_STREQ(d.result.matched, "ou=people,dc=example");
	EXPECT_EQ(d.remove("ou=people,dc=example"), LDAP_SUCCESS);
	EXPECT_FALSE(d.has("ou=people,dc=example"));
}

/* --- modify --------------------------------------------------------------------------------- */

class ModifyTest : public OperationsTest
{
protected:
	void SetUp() override
	{
		OperationsTest::SetUp();
		ASSERT_EQ(d.person("ann", {{"mail", "a@x"}, {"mail", "b@x"}, {"description", "d"}}),
			  LDAP_SUCCESS);
	}
};

TEST_F(ModifyTest, ModificationsApplyInTheirOrder)
{
	ASSERT_EQ(d.modify(ann, {{BACKEND_ADD, "mail", {"c@x"}},
				 {BACKEND_DELETE, "mail", {"A@X"}},
				 {BACKEND_REPLACE, "description", {"e", "f"}},
				 {BACKEND_DELETE, "description", {"e"}},
				 {BACKEND_ADD, "telephoneNumber", {"+1 2-3"}}}),
		  LDAP_SUCCESS)
		<< d.result.message;
	EXPECT_EQ(d.values(ann, "mail"), strings({"b@x", "c@x"}));
	EXPECT_EQ(d.values(ann, "description"), strings({"f"}));
	EXPECT_EQ(d.values(ann, "modifiersName"), strings({"cn=editor,dc=example"}));
	EXPECT_EQ(d.values(ann, "creatorsName"), strings({"cn=admin,dc=example"}));
}

TEST_F(ModifyTest, ADeletionWithoutValuesRemovesTheType)
{
	EXPECT_EQ(d.modify(ann, {{BACKEND_DELETE, "mail", {}}}), LDAP_SUCCESS);
	EXPECT_EQ(d.values(ann, "mail"), strings());
	EXPECT_EQ(d.modify(ann, {{BACKEND_DELETE, "mail", {}}}), LDAP_NO_SUCH_ATTRIBUTE);
	EXPECT_EQ(d.modify(ann, {{BACKEND_REPLACE, "mail", {}}}), LDAP_SUCCESS);
}

TEST_F(ModifyTest, NothingChangesWhenOneModificationFails)
{
	EXPECT_EQ(
		d.modify(ann, {{BACKEND_ADD, "mail", {"c@x"}}, {BACKEND_DELETE, "mail", {"no@x"}}}),
		LDAP_NO_SUCH_ATTRIBUTE);
	EXPECT_STREQ(d.result.message, "modify/delete: mail: no such value");
	EXPECT_EQ(d.values(ann, "mail"), strings({"a@x", "b@x"}));
}

TEST_F(ModifyTest, ResultCodesOfRefusedModifications)
{
	const std::vector<std::pair<modification, int>> cases = {
		{{BACKEND_ADD, "mail", {"A@x"}}, LDAP_TYPE_OR_VALUE_EXISTS},
		{{BACKEND_ADD, "mail", {"n@x", "N@x"}}, LDAP_TYPE_OR_VALUE_EXISTS},
		{{BACKEND_ADD, "mail", {}}, LDAP_PROTOCOL_ERROR},
		{{BACKEND_REPLACE, "displayName", {"a", "b"}}, LDAP_CONSTRAINT_VIOLATION},
		{{BACKEND_ADD, "manager", {"x"}}, LDAP_INVALID_SYNTAX},
		{{BACKEND_REPLACE, "entryUUID", {"x"}}, LDAP_CONSTRAINT_VIOLATION},
		{{BACKEND_DELETE, "uid", {}}, LDAP_NOT_ALLOWED_ON_RDN},
		{{BACKEND_REPLACE, "uid", {"bo"}}, LDAP_NOT_ALLOWED_ON_RDN},
		{{BACKEND_DELETE, "objectClass", {}}, LDAP_OBJECT_CLASS_VIOLATION},
		{{BACKEND_ADD, "9x", {"1"}}, LDAP_UNDEFINED_TYPE},
	};

	for (const auto &[wanted, code] : cases) {
		EXPECT_EQ(d.modify(ann, {wanted}), code) << wanted.type << ": " << d.result.message;
		EXPECT_NE(d.result.message[0], '\0') << wanted.type;
	}
	EXPECT_EQ(d.modify("uid=bo,ou=people,dc=example", {}), LDAP_NO_SUCH_OBJECT);
	EXPECT_EQ(d.modify("bo", {}), LDAP_INVALID_DN_SYNTAX);
}

TEST_F(ModifyTest, ValuesWithoutAnEqualityRuleAreDeletedAllTogetherOnly)
{
	ASSERT_EQ(d.modify(ann, {{BACKEND_ADD, "jpegPhoto", {"one", "two"}}}), LDAP_SUCCESS);
	EXPECT_EQ(d.modify(ann, {{BACKEND_DELETE, "jpegPhoto", {"one"}}}),
		  LDAP_INAPPROPRIATE_MATCHING);
	EXPECT_EQ(d.modify(ann, {{BACKEND_DELETE, "jpegPhoto", {}}}), LDAP_SUCCESS);
}

TEST_F(ModifyTest, TypesWithOptionsAreTypesOfTheirOwn)
{
	ASSERT_EQ(d.modify(ann, {{BACKEND_ADD, "description;lang-de", {"D"}}}), LDAP_SUCCESS);
	EXPECT_EQ(d.values(ann, "description"), strings({"d"}));
	EXPECT_EQ(d.values(ann, "description;lang-de"), strings({"D"}));
	EXPECT_EQ(d.modify(ann, {{BACKEND_DELETE, "description", {}}}), LDAP_SUCCESS);
	EXPECT_EQ(d.values(ann, "description;lang-de"), strings({"D"}));
}

TEST_F(ModifyTest, IndexesFollow)
{
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(mail=a@x)").size(), 1u);
	d.modify(ann, {{BACKEND_REPLACE, "mail", {"new@x"}}});
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(mail=a@x)").size(), 0u);
	EXPECT_EQ(d.candidates, 0u);
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(mail=new@x)").size(), 1u);
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(mail=NEW@x)").size(), 1u);
	EXPECT_EQ(d.candidates, 1u);
	d.remove(ann);
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(mail=new@x)").size(), 0u);
	EXPECT_EQ(d.candidates, 0u);
}

TEST_F(ModifyTest, AGroupOfManyMembersTakesOneMore)
{
	std::vector<pair> pairs = {{"objectClass", "groupOfNames"}};
	const std::string dn = "cn=all,ou=groups,dc=example";

	for (int i = 0; i < 20000; i++)
		pairs.push_back({"member", "uid=u" + std::to_string(i) + ",dc=example"});
	ASSERT_EQ(d.add(dn, pairs), LDAP_SUCCESS) << d.result.message;
	EXPECT_EQ(d.modify(dn, {{BACKEND_ADD, "member", {"uid=new,dc=example"}}}), LDAP_SUCCESS);
	EXPECT_EQ(d.modify(dn, {{BACKEND_ADD, "member", {"UID=u7 , dc=example"}}}),
		  LDAP_TYPE_OR_VALUE_EXISTS);
	EXPECT_EQ(d.values(dn, "member").size(), 20001u);
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(member=UID=NEW,dc=example)"),
		  strings({dn}));
	EXPECT_EQ(d.candidates, 1u);
}

TEST_F(ModifyTest, AThousandMembersAreDeletedAtOnce)
{
	std::vector<pair> pairs = {{"objectClass", "groupOfNames"}};
	const std::string dn = "cn=all,ou=groups,dc=example";
	modification some = {BACKEND_DELETE, "member", {}};

	for (int i = 0; i < 20000; i++)
		pairs.push_back({"member", "uid=u" + std::to_string(i) + ",dc=example"});
	for (int i = 500; i < 1500; i++)
		some.values.push_back("UID=U" + std::to_string(i) + ", dc=example");
	ASSERT_EQ(d.add(dn, pairs), LDAP_SUCCESS) << d.result.message;
	EXPECT_EQ(d.modify(dn, {some}), LDAP_SUCCESS) << d.result.message;
	EXPECT_EQ(d.values(dn, "member").size(), 19000u);
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(member=uid=u500,dc=example)").size(),
		  0u);
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(member=uid=u499,dc=example)").size(),
		  1u);
	EXPECT_EQ(d.modify(dn, {{BACKEND_DELETE,
				 "member",
				 {"uid=u1,dc=example", "uid=u500,dc=example"}}}),
		  LDAP_NO_SUCH_ATTRIBUTE);
	EXPECT_EQ(d.values(dn, "member").size(), 19000u);
}

/* --- compare -------------------------------------------------------------------------------- */

TEST_F(OperationsTest, CompareUsesTheMatchingRuleOfTheType)
{
	d.person("ann", {{"telephoneNumber", "+1 23"}, {"jpegPhoto", "p"}});
	EXPECT_EQ(d.compare(ann, "cn", "person  ANN"), LDAP_COMPARE_TRUE);
	EXPECT_EQ(d.compare(ann, "telephoneNumber", "+12-3"), LDAP_COMPARE_TRUE);
	EXPECT_EQ(d.compare(ann, "cn", "bo"), LDAP_COMPARE_FALSE);
	EXPECT_EQ(d.compare(ann, "mail", "bo"), LDAP_NO_SUCH_ATTRIBUTE);
	EXPECT_EQ(d.compare(ann, "nothing", "bo"), LDAP_NO_SUCH_ATTRIBUTE);
	EXPECT_EQ(d.compare(ann, "manager", "bo"), LDAP_INVALID_SYNTAX);
	EXPECT_EQ(d.compare(ann, "jpegPhoto", "p"), LDAP_INAPPROPRIATE_MATCHING);
	EXPECT_EQ(d.compare("dc=no", "cn", "x"), LDAP_NO_SUCH_OBJECT);
}

} // namespace ldapd_test
