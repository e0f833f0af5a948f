/* SPDX-License-Identifier: MIT */
/*
 * Readers beside writers: what they see is always an entry as one write left it. Maps that grow
 * early, and what else no option of the server sets.
 */
#include <ldap.h>

#include "../../../../tests/support/folder.h"
#include "../../library/entries.h"

extern "C" {
#include "backend/backend.h"
#include "filter/filter.h"
}

namespace ldapd_test
{

using strings = std::vector<std::string>;

static struct dirsrv_bytes bytes(const std::string &text)
{
	return {text.data(), text.size()};
}

/* An open backend with dc=example and ou=people below it. */
class directory
{
public:
	explicit directory(const struct backend_config &wanted, const char *suffix = "dc=example")
	{
		struct backend_config config = wanted;
		char error[256] = "";

		config.suffix = suffix;
		config.rcu = dirsrv_test::flavour();
		backend = backend_open(&config, error, sizeof(error));
		EXPECT_NE(backend, nullptr) << error;
	}
	~directory() { EXPECT_EQ(backend_close(backend), 0); }
	directory(const directory &) = delete;
	directory &operator=(const directory &) = delete;

	void add(const std::string &dn, const std::vector<dirsrv_test::pair> &pairs)
	{
		std::vector<struct dirsrv_pair> all;
		struct backend_result result;

		for (const dirsrv_test::pair &pair : pairs)
			all.push_back({bytes(pair.first), bytes(pair.second)});
		backend_add(backend, "cn=admin", bytes(dn), all.data(), all.size(), &result);
		EXPECT_EQ(result.code, LDAP_SUCCESS) << result.message;
	}

	/* The result of a search for all entries, of which `set` makes another one. */
	template <typename Set> int search(Set set)
	{
		struct filter *filter = filter_new(FILTER_PRESENT);
		struct backend_search search = {};
		struct backend_result result;

		filter->type = bytes("objectClass");
		search.base = bytes("dc=example");
		search.scope = BACKEND_SUBTREE;
		search.filter = filter;
		set(search);
		backend_search(backend, &search, &result);
		filter_free(filter);
		return result.code;
	}

	std::uint64_t map_growths()
	{
		struct backend_stats stats;

		backend_stats_read(backend, &stats);
		return stats.map_growths;
	}

	dirsrv_test::registered here;
	struct backend *backend;
};

constexpr int people = 40;

static std::string name_of(int i)
{
	return "uid=u" + std::to_string(i) + ",ou=people,dc=example";
}

/* Each write gives sn and description of an entry the same number. */
static bool is_whole(struct dirsrv_entry *entry)
{
	strings sn = dirsrv_test::values(entry, "sn");
	strings description = dirsrv_test::values(entry, "description");

	return description.empty() || sn == description;
}

struct seen {
	unsigned long entries = 0, torn = 0;
};

static enum backend_next look(struct dirsrv_entry *entry, void *arg)
{
	auto *seen = static_cast<struct seen *>(arg);

	seen->entries++;
	seen->torn += !is_whole(entry);
	return BACKEND_CONTINUE;
}

static void read_all(directory &d, std::atomic<bool> &over, struct seen *seen)
{
	dirsrv_test::registered there;
	const struct {
		enum filter_kind kind;
		const char *type, *value;
	} filters[] = {{FILTER_PRESENT, "objectClass", ""},
		       {FILTER_SUBSTRINGS, "uid", "u1"},
		       {FILTER_PRESENT, "sn", ""},
		       {FILTER_EQUAL, "objectClass", "person"}};

	for (unsigned i = 0; !over; i++) {
		const auto &wanted = filters[i % 4];
		const std::string type = wanted.type, value = wanted.value;

		seen->torn += d.search([&](struct backend_search &search) {
			search.filter->kind = wanted.kind;
			search.filter->type = bytes(type);
			search.filter->value = bytes(value);
			search.entry = look;
			search.arg = seen;
		}) != LDAP_SUCCESS;
	}
}

/* What a thread has written is what it reads at once. */
static unsigned long write_and_read(struct backend *backend, int from, int rounds)
{
	unsigned long wrong = 0;

	for (int round = 0; round < rounds; round++) {
		int i = from + round % (people / 2);
		std::string number = std::to_string(round), dn = name_of(i);
		struct backend_result result;
		struct dirsrv_bytes value = bytes(number);
		struct backend_modification both[] = {
			{BACKEND_REPLACE, bytes("sn"), &value, 1},
			{BACKEND_REPLACE, bytes("description"), &value, 1}};

		if (round % 5 == 4) {
			backend_delete(backend, "", bytes(dn), &result);
			wrong += result.code != LDAP_SUCCESS;
			wrong += backend_get(backend, dn.data(), dn.size()) != nullptr;
			const struct dirsrv_pair pairs[] = {
				{bytes("objectClass"), bytes("inetOrgPerson")},
				{bytes("cn"), bytes("c")},
				{bytes("sn"), bytes("s")}};
			backend_add(backend, "", bytes(dn), pairs, 3, &result);
			wrong += result.code != LDAP_SUCCESS;
		}
		backend_modify(backend, "", bytes(dn), both, 2, &result);
		wrong += result.code != LDAP_SUCCESS;
		struct dirsrv_entry *entry = backend_get(backend, dn.data(), dn.size());
		wrong += !entry || dirsrv_test::values(entry, "sn") != strings({number});
		dirsrv_entry_put(entry);
	}
	return wrong;
}

static void readers_beside_writers(size_t cache_bytes, size_t map_bytes)
{
	const int rounds = under_tsan ? 150 : 1500;
	std::atomic<bool> over{false};
	struct seen seen[2];
	unsigned long wrong[2] = {};
	struct backend_config config = {};

	config.cache_bytes = cache_bytes;
	config.map_bytes = map_bytes;
	directory d(config);
	d.add("dc=example", {{"objectClass", "domain"}});
	d.add("ou=people,dc=example", {{"objectClass", "organizationalUnit"}});
	for (int i = 0; i < people; i++)
		d.add(name_of(i), {{"objectClass", "inetOrgPerson"}, {"cn", "c"}, {"sn", "s"}});

	std::thread readers[2], writers[2];
	for (int i = 0; i < 2; i++)
		readers[i] = std::thread([&, i] { read_all(d, over, &seen[i]); });
	for (int i = 0; i < 2; i++)
		writers[i] = std::thread([&, i] {
			dirsrv_test::registered there;

			wrong[i] = write_and_read(d.backend, i * people / 2, rounds);
		});
	join_all(writers);
	over = true;
	join_all(readers);
	EXPECT_EQ(d.map_growths() > 0, map_bytes > 0);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(wrong[i], 0u);
		EXPECT_EQ(seen[i].torn, 0u);
		EXPECT_GT(seen[i].entries, 0u);
	}
}

TEST(BackendStressTest, ReadersSeeWholeEntriesBesideWriters)
{
	readers_beside_writers(0, 0);
}

TEST(BackendStressTest, ReadersSeeWholeEntriesWhileTheCacheEvicts)
{
	readers_beside_writers(16 << 10, 0);
}

TEST(BackendStressTest, ReadersSeeWholeEntriesWhileTheMapGrows)
{
	readers_beside_writers(0, 128 << 10);
}

TEST(BackendTest, ASearchEndsAtItsDeadlineAndWhenItIsAbandoned)
{
	directory d({});

	d.add("dc=example", {{"objectClass", "domain"}});
	EXPECT_EQ(d.search([](struct backend_search &search) { search.deadline_ns = 1; }),
		  LDAP_TIMELIMIT_EXCEEDED);
	EXPECT_EQ(d.search([](struct backend_search &search) {
		search.abandoned = [](void *) { return true; };
	}),
		  LDAP_CANCELLED);
}

TEST(BackendTest, TheCallbackMayWriteAndKeepEntries)
{
	directory d({});
	struct state {
		struct backend *backend;
		std::vector<struct dirsrv_entry *> kept;
	} state = {d.backend, {}};

	for (const char *dn : {"dc=example", "cn=a,dc=example", "cn=b,dc=example"})
		d.add(dn, {{"objectClass", "device"}});
	d.search([&](struct backend_search &search) {
		search.scope = BACKEND_ONE;
		search.arg = &state;
		search.entry = [](struct dirsrv_entry *entry, void *arg) {
			auto *s = static_cast<struct state *>(arg);
			struct backend_result result;

			EXPECT_TRUE(dirsrv_entry_get(entry));
			s->kept.push_back(entry);
			backend_delete(s->backend, "",
				       bytes(dirsrv_dn_text(dirsrv_entry_dn(entry), nullptr)),
				       &result);
			EXPECT_EQ(result.code, LDAP_SUCCESS);
			return BACKEND_CONTINUE;
		};
	});
	EXPECT_EQ(state.kept.size(), 2u);
	for (struct dirsrv_entry *entry : state.kept) {
		EXPECT_EQ(dirsrv_test::values(entry, "objectClass"), strings({"device"}));
		dirsrv_entry_put(entry);
	}
}

TEST(BackendTest, TheNamingContextStaysWhenTheMapGrowsDuringTheLoad)
{
	folder files;
	const std::string ldif = files.path + "/in.ldif", db = files.path + "/db";
	struct backend_config config = {};
	char error[256] = "";

	std::ofstream(ldif)
		<< "dn: dc=example\nobjectClass: domain\n\ndn: cn=y,dc=example\nobjectClass: device\n"
		<< "description: " << std::string(100000, 'y') << "\n\n";
	config.db = db.c_str();
	config.map_bytes = 32 << 10;
	{
		directory d(config, nullptr);

		EXPECT_EQ(backend_load(d.backend, ldif.c_str(), nullptr, nullptr, error,
				       sizeof(error)),
			  2)
			<< error;
		EXPECT_GT(d.map_growths(), 0u);
	}
	EXPECT_STREQ(backend_suffix(directory(config, nullptr).backend), "dc=example");
}

} // namespace ldapd_test
