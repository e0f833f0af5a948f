/* SPDX-License-Identifier: MIT */
/* Readers beside writers: what they see is always an entry as one write left it. */
#include "directory.h"

namespace ldapd_test
{

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

static void read_all(struct backend *backend, std::atomic<bool> &over, struct seen *seen)
{
	known_thread known;
	const char *filters[] = {"(objectClass=*)", "(uid=u1*)", "(sn=*)", "(objectClass=person)"};

	for (unsigned i = 0; !over; i++) {
		filter_text filter(filters[i % 4]);
		struct backend_search search = {};
		struct backend_result result;

		search.base = bytes("dc=example");
		search.scope = BACKEND_SUBTREE;
		search.filter = filter.get();
		search.entry = look;
		search.arg = seen;
		backend_search(backend, &search, &result);
		seen->torn += result.code != LDAP_SUCCESS;
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
	directory d;

	d.config.cache_bytes = cache_bytes;
	d.config.map_bytes = map_bytes;
	ASSERT_TRUE(d.open("")) << d.error;
	d.plant();
	for (int i = 0; i < people; i++)
		ASSERT_EQ(d.person("u" + std::to_string(i)), LDAP_SUCCESS);

	std::thread readers[2], writers[2];
	for (int i = 0; i < 2; i++)
		readers[i] = std::thread([&, i] { read_all(d.backend, over, &seen[i]); });
	for (int i = 0; i < 2; i++)
		writers[i] = std::thread([&, i] {
			known_thread known;

			wrong[i] = write_and_read(d.backend, i * people / 2, rounds);
		});
	join_all(writers);
	over = true;
	join_all(readers);
	EXPECT_EQ(d.stats().map_growths > 0, map_bytes > 0);
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

} // namespace ldapd_test
