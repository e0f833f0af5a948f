/* SPDX-License-Identifier: MIT */
/* Entries, DNs and pools, without a cache. */
#include "entry_caches.h"

using namespace dirsrv_test;

namespace
{

using EntryTest = PoolTest;
using words = std::vector<std::string>;

/* --- DNs ----------------------------------------------------------------------------- */

TEST_F(EntryTest, NormalFormHasLowerCaseAndNoBlanksThatDoNotCount)
{
	const struct {
		const char *text, *normalized;
	} cases[] = {
		{"uid=ann,dc=example,dc=com", "uid=ann,dc=example,dc=com"},
		{"UID=Ann , DC = Example,dc=com", "uid=ann,dc=example,dc=com"},
		{"  cn=Ann  Smith  ", "cn=ann  smith"},
		{"cn=Smith\\, Ann,dc=com", "cn=smith\\, ann,dc=com"},
		{"cn=ends with\\ ,dc=com", "cn=ends with\\ ,dc=com"},
		{"cn=ends with\\  , dc=com", "cn=ends with\\ ,dc=com"},
		{"cn=a + ou=b,dc=com", "cn=a+ou=b,dc=com"},
		{"cn=,dc=com", "cn=,dc=com"},
		{"cn= E = MC2 , dc=com", "cn=e = mc2,dc=com"},
	};

	for (const auto &c : cases)
		EXPECT_EQ(name(pool, c.text).normalized(), c.normalized) << c.text;
}

TEST_F(EntryTest, NormalFormHasOneWayToEscape)
{
	const struct {
		const char *text, *normalized;
	} cases[] = {
		{R"(cn=a\2Cb)", R"(cn=a\,b)"},
		{R"(cn=a\2cb\5C)", R"(cn=a\,b\\)"},
		{R"(cn=\C3\A9)", "cn=\xc3\xa9"},
		{R"(cn=\41nn)", "cn=ann"},
		{R"(cn=x\20,dc=com)", R"(cn=x\ ,dc=com)"},
		{R"(cn=\ x\ y)", R"(cn=\ x y)"},
		{R"(cn=x\\ ,dc=com)", R"(cn=x\\,dc=com)"},
		{R"(cn=a\=b)", "cn=a=b"},
		{R"(cn=a\00b)", R"(cn=a\00b)"},
		{R"(cn=\zz)", "cn=zz"},
		{R"(cn=a\;b)", R"(cn=a\;b)"},
		{"cn=a;b", "cn=a;b"},
		{R"(cn=\#04)", R"(cn=\#04)"},
		{"cn=#04", "cn=#04"},
	};

	for (const auto &c : cases) {
		const std::string once = name(pool, c.text).normalized();

		EXPECT_EQ(once, c.normalized) << c.text;
		EXPECT_EQ(name(pool, once).normalized(), once) << c.text;
	}
}

TEST_F(EntryTest, BadDnsAreRefused)
{
	const std::vector<std::string> all = {
		"",
		"uid",
		"=x",
		" =x,dc=com",
		"uid=x\\",
		"x,cn=a",
		",cn=a",
		"+cn=a",
		"cn\\=a",
		"\\,=x",
		"cn=a,,dc=b",
		"cn=a,garbage",
		"cn=a,",
		"cn=a+,dc=b",
		std::string("cn=a\0b", 6),
		std::string("cn=a\\\0", 6),
	};

	for (const std::string &bad : all) {
		errno = 0;
		EXPECT_EQ(name(pool, bad), nullptr) << bad;
		EXPECT_EQ(errno, EINVAL) << bad;
	}
	EXPECT_EQ(name(pool, "cn=" + std::string(DIRSRV_DN_MAX, 'x')), nullptr);
	EXPECT_NE(name(pool, "cn=" + std::string(DIRSRV_DN_MAX - 3, 'x')), nullptr);
}

TEST_F(EntryTest, NameIsTheFirstValueWithoutCaseAndEscapes)
{
	const struct {
		const char *text, *value;
	} cases[] = {
		{"uid=Ann,dc=com", "ann"},
		{"cn=Smith\\, Ann,dc=com", "smith, ann"},
		{"cn=\\41nn+ou=b,dc=com", "ann"},
		{"cn=a\\\\b", "a\\b"},
		{"cn=,dc=com", ""},
	};

	for (const auto &c : cases)
		EXPECT_EQ(name(pool, c.text).value(), c.value) << c.text;
}

TEST_F(EntryTest, DnsThatDifferInCaseAndBlanksAreEqual)
{
	name one(pool, "uid=Ann, DC=com"), same(pool, "UID=ann,dc=com"),
		other(pool, "uid=an,dc=com"), spaced(pool, "cn=E = mc2"), tight(pool, "cn=E=mc2");

	EXPECT_TRUE(dirsrv_dn_equal(one, same));
	EXPECT_EQ(dirsrv_dn_hash(one), dirsrv_dn_hash(same));
	EXPECT_FALSE(dirsrv_dn_equal(one, other));
	EXPECT_FALSE(dirsrv_dn_equal(spaced, tight)) << "blanks within a value count";
}

TEST_F(EntryTest, DnKeepsItsTextAndCountsRdns)
{
	name dn(pool, "uid=Ann, dc=a\\,b, dc=com");
	std::size_t length;

	EXPECT_STREQ(dirsrv_dn_text(dn, &length), "uid=Ann, dc=a\\,b, dc=com");
	EXPECT_EQ(length, std::strlen("uid=Ann, dc=a\\,b, dc=com"));
	EXPECT_EQ(dirsrv_dn_rdns(dn), 3u);
}

/* --- making --------------------------------------------------------------------------- */

TEST_F(EntryTest, PairsOfOneTypeAreOneAttribute)
{
	struct dirsrv_entry *entry = make(
		pool, "cn=x", {{"objectClass", "top"}, {"cn", "x"}, {"OBJECTCLASS", "person"}});

	EXPECT_EQ(all_of(entry), "objectClass=top objectClass=person cn=x");
	EXPECT_EQ(values(entry, "ObjectClass"), (words{"top", "person"}));
	EXPECT_EQ(dirsrv_entry_find(entry, "c", 1), nullptr);
	dirsrv_entry_put(entry);
}

TEST_F(EntryTest, ValuesOfAllLengthsKeepTheirBytes)
{
	for (std::size_t length :
	     {0u, 1u, 15u, 16u, 17u, 4096u, 32768u, 32769u, 1u << 20, 1536u << 10}) {
		const std::string value(length, static_cast<char>('a' + length % 26));
		struct dirsrv_entry *entry = make(pool, "cn=x", {{"photo", value}});

		ASSERT_NE(entry, nullptr) << length;
		EXPECT_TRUE(values(entry, "photo") == words{value}) << length;
		dirsrv_entry_put(entry);
	}
}

TEST_F(EntryTest, BadPairsAreRefusedAndNothingIsLeft)
{
	const std::string much(DIRSRV_VALUE_MAX + 1, 'x');

	for (const pair &bad : {pair("", "x"), pair("photo", much),
				pair(std::string(DIRSRV_TYPE_MAX + 1, 't'), "x")}) {
		errno = 0;
		EXPECT_EQ(make(pool, "cn=x", {{"cn", "x"}, bad}), nullptr);
		EXPECT_EQ(errno, EINVAL);
	}
	EXPECT_EQ(make(pool, "nothing", {}), nullptr);
	EXPECT_EQ(objects(), 0u);
}

TEST_F(EntryTest, ManyAttributesAndValuesKeepTheirOrder)
{
	std::vector<pair> pairs;
	words expected;

	for (int i = 0; i < 300; i++) {
		pairs.emplace_back("member", "cn=" + std::to_string(i));
		pairs.emplace_back("type" + std::to_string(i), "v");
		expected.push_back("cn=" + std::to_string(i));
	}

	struct dirsrv_entry *entry = make(pool, "cn=group", pairs);

	EXPECT_EQ(values(entry, "member"), expected);
	EXPECT_EQ(values(entry, "TYPE299"), words{"v"});
	dirsrv_entry_put(entry);
	EXPECT_EQ(objects(), 0u);
}

TEST_F(EntryTest, ACopyIsEqualAndIndependent)
{
	struct dirsrv_entry *entry =
		make(pool, "CN=x", {{"cn", "x"}, {"note", "a"}, {"note", "b"}});
	struct dirsrv_entry *copy;

	dirsrv_entry_set_id(entry, 42);
	copy = dirsrv_entry_copy(entry);
	EXPECT_EQ(all_of(copy), all_of(entry));
	EXPECT_TRUE(dirsrv_dn_equal(dirsrv_entry_dn(copy), dirsrv_entry_dn(entry)));
	EXPECT_EQ(dirsrv_entry_id(copy), 42u);
	EXPECT_EQ(dirsrv_entry_size(copy), dirsrv_entry_size(entry));
	EXPECT_EQ(replace(copy, "note", {"c"}), 0);
	EXPECT_EQ(all_of(entry), "cn=x note=a note=b");
	dirsrv_entry_put(entry);
	EXPECT_EQ(all_of(copy), "cn=x note=c");
	dirsrv_entry_put(copy);
}

TEST_F(EntryTest, SizeCountsWhatBelongsToTheEntry)
{
	struct dirsrv_entry *entry = make(pool, "cn=x", {{"cn", "x"}});
	const std::size_t before = dirsrv_entry_size(entry);

	EXPECT_EQ(replace(entry, "photo", {std::string(100000, 'p')}), 0);
	EXPECT_GE(dirsrv_entry_size(entry), before + 100000);
	EXPECT_LE(dirsrv_entry_size(entry), before + 100000 + 200);
	EXPECT_EQ(replace(entry, "photo", {}), 0);
	EXPECT_EQ(dirsrv_entry_size(entry), before);
	dirsrv_entry_put(entry);
}

/* --- references ------------------------------------------------------------------------- */

TEST_F(EntryTest, TheLastReferenceFreesAPrivateEntryAtOnce)
{
	struct dirsrv_entry *entry = make(pool, "cn=x", {{"cn", "x"}});

	EXPECT_EQ(dirsrv_entry_references(entry), 1u);
	EXPECT_TRUE(dirsrv_entry_get(entry));
	dirsrv_entry_put(entry);
	EXPECT_EQ(all_of(entry), "cn=x");
	dirsrv_entry_put(entry);
	EXPECT_EQ(dirsrv_entry_pool_pending(pool), 0u);
	EXPECT_EQ(stat("test.entry", "objects"), 0u);
	dirsrv_entry_put(nullptr);
}

/* --- changing ----------------------------------------------------------------------------- */

TEST_F(EntryTest, ReplaceChangesAddsAndRemoves)
{
	struct dirsrv_entry *entry = make(pool, "cn=x", {{"cn", "x"}, {"note", "a"}, {"sn", "s"}});

	EXPECT_EQ(replace(entry, "NOTE", {"b", "c"}), 0);
	EXPECT_EQ(all_of(entry), "cn=x NOTE=b NOTE=c sn=s");
	EXPECT_EQ(replace(entry, "mail", {"m"}), 0);
	EXPECT_EQ(all_of(entry), "cn=x NOTE=b NOTE=c sn=s mail=m");
	EXPECT_EQ(replace(entry, "cn", {}), 0);
	EXPECT_EQ(replace(entry, "mail", {}), 0);
	EXPECT_EQ(replace(entry, "missing", {}), 0);
	EXPECT_EQ(all_of(entry), "NOTE=b NOTE=c sn=s");
	dirsrv_entry_put(entry);
	EXPECT_EQ(objects(), 0u);
}

TEST_F(EntryTest, ABadReplaceChangesNothing)
{
	struct dirsrv_entry *entry = make(pool, "cn=x", {{"cn", "x"}});

	EXPECT_EQ(replace(entry, "", {"b"}), -EINVAL);
	EXPECT_EQ(replace(entry, "", {}), -EINVAL);
	EXPECT_EQ(replace(entry, "cn", {"b", std::string(DIRSRV_VALUE_MAX + 1, 'x')}), -EINVAL);
	EXPECT_EQ(all_of(entry), "cn=x");
	dirsrv_entry_put(entry);
}

TEST_F(EntryTest, AReaderStillSeesWhatWasReplaced)
{
	struct dirsrv_entry *entry = make(pool, "cn=x", {{"note", "before"}, {"cn", "x"}});

	{
		section reading;
		const struct dirsrv_attribute *seen = dirsrv_entry_first(entry);

		EXPECT_EQ(replace(entry, "note", {"after"}), 0);
		EXPECT_EQ(values(seen), words{"before"});
		EXPECT_STREQ(dirsrv_attribute_type(dirsrv_attribute_next(seen), nullptr), "cn");
		EXPECT_GT(dirsrv_entry_pool_pending(pool), 0u);
	}
	EXPECT_EQ(dirsrv_entry_pool_barrier(pool), 0);
	EXPECT_EQ(dirsrv_entry_pool_pending(pool), 0u);
	EXPECT_EQ(values(entry, "note"), words{"after"});
	dirsrv_entry_put(entry);
}

/* --- every allocation failing in turn -------------------------------------------------------- */

TEST_F(EntryTest, MakingFailsWholeWhateverAllocationFails)
{
	const unsigned failed = fail_in_turn([&] {
		struct dirsrv_entry *entry = make_numbered(pool, 7, 1);

		EXPECT_TRUE(!entry || is_whole(entry, 7));
		EXPECT_TRUE(entry || errno == ENOMEM) << errno;
		if (!entry) {
			EXPECT_EQ(objects(), 0u);
		}
		dirsrv_entry_put(entry);
		return entry != nullptr;
	});

	/* DN, its text, entry, attributes, values, long texts. */
	EXPECT_GE(failed, 6u);
	EXPECT_EQ(objects(), 0u);
}

TEST_F(EntryTest, CopyingFailsWholeWhateverAllocationFails)
{
	struct dirsrv_entry *entry = make_numbered(pool, 7, 1);
	const std::uint64_t before = objects();
	const unsigned failed = fail_in_turn([&] {
		struct dirsrv_entry *copy = dirsrv_entry_copy(entry);

		EXPECT_TRUE(!copy || all_of(copy) == all_of(entry));
		EXPECT_TRUE(copy || errno == ENOMEM) << errno;
		dirsrv_entry_put(copy);
		EXPECT_EQ(objects(), before);
		return copy != nullptr;
	});

	EXPECT_GE(failed, 6u);
	dirsrv_entry_put(entry);
}

TEST_F(EntryTest, AReplaceWithoutMemoryChangesNothing)
{
	struct dirsrv_entry *entry = make_numbered(pool, 7, 0);
	const std::uint64_t before = objects();
	unsigned version = 0;
	const unsigned failed = fail_in_turn([&] {
		const int error = replace(entry, "note", numbered_values(7, version + 1));

		version += error == 0;
		EXPECT_TRUE(error == 0 || error == -ENOMEM) << error;
		EXPECT_EQ(values(entry, "note"), numbered_values(7, version));
		EXPECT_EQ(objects(), before);
		return error == 0;
	});

	EXPECT_GE(failed, 3u);
	dirsrv_entry_put(entry);
}

TEST_F(EntryTest, APoolIsMadeWholeOrNotAtAll)
{
	const unsigned failed = fail_in_turn([&] {
		struct dirsrv_entry_pool *other = dirsrv_entry_pool_create("other", flavour());

		EXPECT_TRUE(other || errno == ENOMEM) << errno;
		EXPECT_EQ(cache_called("other.entry") != nullptr, other != nullptr);
		EXPECT_EQ(cache_called("other.dn") != nullptr, other != nullptr);
		EXPECT_EQ(dirsrv_entry_pool_destroy(other), 0);
		return other != nullptr;
	});

	EXPECT_GE(failed, 1u);
}

/* --- pools ------------------------------------------------------------------------------------ */

TEST_F(EntryTest, PoolNamesAreChecked)
{
	errno = 0;
	EXPECT_EQ(dirsrv_entry_pool_create("test", flavour()), nullptr);
	EXPECT_EQ(errno, EEXIST);
	for (const std::string &bad :
	     {std::string(), std::string("two words"), std::string(SLAB_MAX_NAME - 9, 'x')}) {
		errno = 0;
		EXPECT_EQ(dirsrv_entry_pool_create(bad.c_str(), flavour()), nullptr) << bad;
		EXPECT_EQ(errno, EINVAL) << bad;
	}
	EXPECT_EQ(dirsrv_entry_pool_destroy(nullptr), 0);
}

TEST_F(EntryTest, APoolInUseStaysAndIsReported)
{
	static int reports;
	struct dirsrv_entry *entry = make(pool, "cn=x", {{"cn", "x"}});

	reports = 0;
	slab_set_report_handler([](const struct slab_report *, void *) { reports++; }, nullptr);
	EXPECT_EQ(dirsrv_entry_pool_destroy(pool), -EBUSY);
	slab_set_report_handler(nullptr, nullptr);
	EXPECT_GE(reports, 1);
	dirsrv_entry_put(make(pool, "cn=y", {{"cn", "y"}}));
	dirsrv_entry_put(entry);
	{
		section reading;

		EXPECT_EQ(dirsrv_entry_pool_destroy(pool), -EDEADLK);
	}
}

} // namespace
