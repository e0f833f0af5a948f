/* SPDX-License-Identifier: MIT */
/* Searches: scopes, candidates from indexes, limits, paging. */
#include "directory.h"

namespace ldapd_test
{

class SearchTest : public testing::Test
{
protected:
	void SetUp() override
	{
		ASSERT_TRUE(d.open("")) << d.error;
		d.plant();
		for (int i = 0; i < 200; i++) {
			std::string n = std::to_string(i);

			ASSERT_EQ(d.person("u" + n, {{"mail", "u" + n + "@example.com"},
						     {"employeeType", i % 2 ? "odd" : "even"},
						     {"description", "text " + n}}),
				  LDAP_SUCCESS);
		}
	}

	size_t count(const std::string &filter, const std::string &base = "dc=example",
		     enum backend_scope scope = BACKEND_SUBTREE)
	{
		return d.search(base, scope, filter).size();
	}

	directory d;
	const std::string people = "ou=people,dc=example";
};

TEST_F(SearchTest, AScopeHasItsEntries)
{
	const std::string all = "(objectClass=*)";

	EXPECT_EQ(count(all, "dc=example", BACKEND_BASE), 1u);
	EXPECT_EQ(count(all, "dc=example", BACKEND_ONE), 2u);
	EXPECT_EQ(count(all, "dc=example", BACKEND_SUBTREE), 203u);
	EXPECT_EQ(count(all, "dc=example", BACKEND_CHILDREN), 202u);
	EXPECT_EQ(count(all, people, BACKEND_SUBTREE), 201u);
	EXPECT_EQ(count(all, people, BACKEND_CHILDREN), 200u);
	EXPECT_EQ(count(all, people, BACKEND_ONE), 200u);
	EXPECT_EQ(count(all, "ou=groups,dc=example", BACKEND_SUBTREE), 1u);
	EXPECT_EQ(count("(uid=u7)", "dc=example", BACKEND_ONE), 0u);
	EXPECT_EQ(count("(uid=u7)", "ou=groups,dc=example"), 0u);
	EXPECT_EQ(count(all, "", BACKEND_ONE), 1u);
	EXPECT_EQ(count(all, "", BACKEND_SUBTREE), 203u);
}

TEST_F(SearchTest, ABaseThatDoesNotExistNamesTheNearestEntryAbove)
{
	for (enum backend_scope scope : {BACKEND_BASE, BACKEND_ONE, BACKEND_SUBTREE}) {
		d.search("uid=no,ou=gone,ou=people,dc=example", scope, "(uid=u1)");
		EXPECT_EQ(d.result.code, LDAP_NO_SUCH_OBJECT);
		EXPECT_STREQ(d.result.matched, people.c_str());
		d.search("dc=com", scope, "(uid=u1)");
		EXPECT_EQ(d.result.code, LDAP_NO_SUCH_OBJECT);
		EXPECT_STREQ(d.result.matched, "");
		d.search("nonsense", scope, "(uid=u1)");
		EXPECT_EQ(d.result.code, LDAP_INVALID_DN_SYNTAX);
	}
}

TEST_F(SearchTest, IndexesGiveFewCandidates)
{
	const std::vector<std::tuple<std::string, size_t, unsigned long>> cases = {
		{"(uid=U17)", 1, 1},
		{"(uid=u999)", 0, 0},
		{"(|(uid=u1)(uid=u2)(uid=u2))", 2, 2},
		{"(&(objectClass=person)(uid=u1))", 1, 1},
		{"(&(description=*)(mail=u17@example.com))", 1, 1},
		{"(mail=u17@*)", 1, 203},
		{"(&(objectClass=person)(mail=*17@*))", 2, 200},
		{"(&(uid=u1)(uid=u2))", 0, 1},
		{"(&(uid=u1)(!(sn=u1)))", 0, 1},
		{"(entryUUID>=00000000-0000-0000-0000-000000000000)", 203, 203},
		{"(objectClass=organizationalUnit)", 2, 2},
		{"(nothing=x)", 0, 203},
		{"(&(uid=u1)(nothing=x))", 0, 1},
		{"(cn>=x)", 0, 0},
		{"(&(cn:=x)(description=*))", 0, 0},
		{"(!(uid=u1))", 202, 203},
		{"(description=text 5)", 1, 203},
	};

	for (const auto &[filter, found, candidates] : cases) {
		EXPECT_EQ(count(filter), found) << filter;
		EXPECT_EQ(d.candidates, candidates) << filter;
		EXPECT_EQ(d.result.code, LDAP_SUCCESS) << d.result.message;
	}
}

TEST_F(SearchTest, IndexesOrNotTheResultIsTheSame)
{
	folder db;
	directory bare;
	const char *none[] = {nullptr};

	d.close(); /* one backend in a process */
	bare.config.indexes = none;
	ASSERT_TRUE(bare.open(db.path)) << bare.error;
	bare.plant();
	bare.person("ann", {{"mail", "a@x"}, {"telephoneNumber", "1 2"}});
	bare.person("bo", {{"mail", "b@x"}, {"colour", "red"}});
	bare.person("cy", {{"colour", "blue"}});

	const strings filters = {
		"(uid=ann)",     "(uid=*)",     "(mail=*@x)",          "(cn=*son*)",
		"(cn=per* a*n)", "(colour>=c)", "(colour<=Red)",       "(colour<=c)",
		"(colour>=a)",   "(mail=a@x)",  "(objectClass=person)"};
	std::map<std::string, strings> without;
	for (const std::string &filter : filters)
		without[filter] = bare.search("dc=example", BACKEND_SUBTREE, filter);
	EXPECT_GT(bare.stats().scans, 0u);
	bare.close();

	const char *all[] = {"uid", "mail", "cn", "objectClass", "colour", nullptr};
	bare.config.indexes = all;
	ASSERT_TRUE(bare.open(db.path)) << bare.error;
	for (const std::string &filter : filters)
		EXPECT_EQ(bare.search("dc=example", BACKEND_SUBTREE, filter), without[filter])
			<< filter;
	EXPECT_EQ(bare.stats().scans, filters.size() - 3); /* but those of equality */
}

TEST_F(SearchTest, EachEntryIsFoundOnceIfAnIndexKnowsOnePartOfAnOr)
{
	for (auto scope : {BACKEND_ONE, BACKEND_SUBTREE, BACKEND_CHILDREN}) {
		auto all = d.search("ou=people,dc=example", scope, "(objectClass=*)");
		auto found = d.search("ou=people,dc=example", scope,
				      "(|(objectClass=person)(!(uid=nobody)))");

		EXPECT_EQ(found, all);
		EXPECT_GT(all.size(), 1u);
	}
}

TEST_F(SearchTest, LongListsOfAnIndexAreReadAsShortOnes)
{
	for (int i = 200; i < 3000; i++)
		ASSERT_EQ(d.person("u" + std::to_string(i)), LDAP_SUCCESS);
	for (const auto &[filter, found] : std::vector<std::pair<std::string, size_t>>{
		     {"(objectClass=person)", 3000},
		     {"(&(objectClass=person)(cn=person*))", 3000},
		     {"(|(objectClass=person)(objectClass=domain))", 3001},
		     {"(cn=*erson*)", 3000},
		     {"(entryUUID>=00000000-0000-0000-0000-000000000000)", 3003}})
		EXPECT_EQ(count(filter), found) << filter << ": " << d.result.message;
}

TEST_F(SearchTest, TheWorkOfASearchIsLimited)
{
	auto limit = [](struct backend_search &search) { search.work_limit = 50; };

	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(description=text 199)", limit).size(),
		  0u);
	EXPECT_EQ(d.result.code, LDAP_ADMINLIMIT_EXCEEDED);
	EXPECT_NE(d.result.message[0], '\0');
	EXPECT_EQ(d.candidates, 50u);
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(uid=u199)", limit).size(), 1u);
	EXPECT_EQ(d.result.code, LDAP_SUCCESS);
}

TEST_F(SearchTest, ASearchEndsAtItsDeadlineAndWhenItIsAbandoned)
{
	d.search("dc=example", BACKEND_SUBTREE, "(description=*)",
		 [](struct backend_search &search) { search.deadline_ns = 1; });
	EXPECT_EQ(d.result.code, LDAP_TIMELIMIT_EXCEEDED);
	d.search("dc=example", BACKEND_SUBTREE, "(description=*)",
		 [](struct backend_search &search) {
			 search.abandoned = [](void *) { return true; };
		 });
	EXPECT_EQ(d.result.code, LDAP_CANCELLED);
}

TEST_F(SearchTest, PagesFollowEachOther)
{
	for (const char *filter : {"(objectClass=*)", "(uid=*)", "(objectClass=person)"}) {
		strings whole = d.search("dc=example", BACKEND_SUBTREE, filter), pages;
		uint64_t after = 0;

		for (bool more = true; more;) {
			struct page {
				strings *all;
				uint64_t last;
				int n;
			} page = {&pages, after, 0};

			d.search("dc=example", BACKEND_SUBTREE, filter,
				 [&](struct backend_search &search) {
					 search.after_id = after;
					 search.arg = &page;
					 search.entry = [](struct dirsrv_entry *entry, void *arg) {
						 auto *p = static_cast<struct page *>(arg);

						 p->all->push_back(dirsrv_dn_text(
							 dirsrv_entry_dn(entry), nullptr));
						 p->last = dirsrv_entry_id(entry);
						 return ++p->n == 17 ? BACKEND_STOP
								     : BACKEND_CONTINUE;
					 };
				 });
			EXPECT_EQ(d.result.code, LDAP_SUCCESS);
			more = page.n == 17;
			after = page.last;
		}
		EXPECT_EQ(pages, whole) << filter;
	}
}

TEST_F(SearchTest, TheCallbackMayWriteAndKeepEntries)
{
	struct state {
		directory *d;
		std::vector<struct dirsrv_entry *> kept;
	} state = {&d, {}};

	d.search(people, BACKEND_ONE, "(employeeType=odd)", [&](struct backend_search &search) {
		search.arg = &state;
		search.entry = [](struct dirsrv_entry *entry, void *arg) {
			auto *s = static_cast<struct state *>(arg);

			EXPECT_TRUE(dirsrv_entry_get(entry));
			s->kept.push_back(entry);
			EXPECT_EQ(s->d->remove(dirsrv_dn_text(dirsrv_entry_dn(entry), nullptr)),
				  LDAP_SUCCESS);
			return BACKEND_CONTINUE;
		};
	});
	EXPECT_EQ(state.kept.size(), 100u);
	for (struct dirsrv_entry *entry : state.kept) {
		EXPECT_EQ(dirsrv_test::values(entry, "employeeType"), strings({"odd"}));
		dirsrv_entry_put(entry);
	}
	EXPECT_EQ(count("(employeeType=odd)"), 0u);
}

TEST_F(SearchTest, TheEntryCacheKeepsItsLimit)
{
	struct dirsrv_entry_cache_stats stats = {};
	directory small;

	d.close();
	small.config.cache_bytes = 32 << 10;
	ASSERT_TRUE(small.open("")) << small.error;
	small.plant();
	for (int i = 0; i < 300; i++)
		small.person("u" + std::to_string(i));
	EXPECT_EQ(small.search("dc=example", BACKEND_SUBTREE, "(objectClass=*)").size(), 303u);
	small.search("dc=example", BACKEND_BASE, "(objectClass=*)");
	stats.struct_size = sizeof(stats);
	dirsrv_entry_cache_stats_read(backend_cache(small.backend), &stats);
	EXPECT_LE(stats.bytes, stats.limit);
	EXPECT_GT(stats.evicts, 0u);
	EXPECT_GT(stats.entries, 0u);
}

} // namespace ldapd_test
