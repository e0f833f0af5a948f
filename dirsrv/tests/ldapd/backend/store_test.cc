/* SPDX-License-Identifier: MIT */
/* The database: what survives the process, a map that grows, files that are damaged. */
#include <lmdb.h>

#include "directory.h"

extern "C" {
void urcu_memb_call_rcu_before_fork(void);
void urcu_memb_call_rcu_after_fork_parent(void);
void urcu_memb_call_rcu_after_fork_child(void);
}

namespace ldapd_test
{

/* A child that may use liburcu. */
static pid_t fork_with_rcu()
{
	urcu_memb_call_rcu_before_fork();
	pid_t pid = fork();

	if (pid == 0)
		urcu_memb_call_rcu_after_fork_child();
	else
		urcu_memb_call_rcu_after_fork_parent();
	return pid;
}

/* --- durability -------------------------------------------------------------------------------- */

TEST(StoreTest, EntriesAreThereWhenTheDatabaseIsOpenedAgain)
{
	folder db;
	directory d(db.path);

	d.plant();
	d.person("ann", {{"mail", "a@x"}});
	d.person("bo");
	d.person("cy");
	d.remove("uid=bo,ou=people,dc=example");
	d.close();
	ASSERT_TRUE(d.open(db.path)) << d.error;
	EXPECT_EQ(d.values("uid=ann,ou=people,dc=example", "mail"), strings({"a@x"}));
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(uid=cy)").size(), 1u);
	EXPECT_FALSE(d.has("uid=bo,ou=people,dc=example"));
	EXPECT_EQ(d.stats().entries, 5u);
}

/* Adds, changes and deletes entries for ever; writes a byte for each round when it is acknowledged. */
[[noreturn]] static void write_until_killed(const std::string &db, int out, bool fsync)
{
	directory d;

	d.config.fsync = fsync;
	if (!d.open(db))
		_exit(1);
	for (int i = 0;; i++) {
		std::string uid = "u" + std::to_string(i);
		std::string dn = "uid=" + uid + ",ou=people,dc=example";

		if (d.person(uid) || d.modify(dn, {{BACKEND_ADD, "mail", {uid + "@x"}}}) ||
		    (i % 3 == 1 && d.remove(dn)) || ::write(out, "x", 1) != 1)
			_exit(1);
	}
}

static void expect_round(directory &d, int i)
{
	std::string n = std::to_string(i), below = ",ou=people,dc=example";
	std::string dn = "uid=u" + n + below;

	EXPECT_EQ(d.has(dn), i % 3 != 1) << i;
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(mail=u" + n + "@x)").size(), i % 3 != 1)
		<< i;
}

/* Kill the writer after `rounds` acknowledged rounds or more; returns how many there were. */
static int kill_after(const std::string &db, int rounds, bool fsync)
{
	int fds[2], acknowledged = 0;
	char byte;

	EXPECT_EQ(pipe(fds), 0);
	pid_t child = fork_with_rcu();
	if (child == 0) {
		close(fds[0]);
		write_until_killed(db, fds[1], fsync);
	}
	close(fds[1]);
	while (acknowledged < rounds && read(fds[0], &byte, 1) == 1)
		acknowledged++;
	kill(child, SIGKILL);
	while (read(fds[0], &byte, 1) == 1)
		acknowledged++;
	close(fds[0]);
	int status;
	waitpid(child, &status, 0);
	EXPECT_TRUE(WIFSIGNALED(status));
	return acknowledged;
}

static void nothing_is_lost(bool fsync, int rounds)
{
	folder db;
	pid_t planter = fork_with_rcu();

	/* Everything that writes is a process of its own: a fork of an open database is of no use. */
	if (planter == 0) {
		directory d(db.path);

		d.plant();
		d.close();
		_exit(0);
	}
	waitpid(planter, nullptr, 0);
	int acknowledged = kill_after(db.path, rounds, fsync);
	ASSERT_GE(acknowledged, rounds);

	directory d(db.path);
	ASSERT_NE(d.backend, nullptr) << d.error;
	for (int i = 0; i < acknowledged; i++)
		expect_round(d, i);
	/* Of the round that was not acknowledged, each write is there in whole or not at all. */
	EXPECT_EQ(d.person("new"), LDAP_SUCCESS) << d.result.message;
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(uid=new)").size(), 1u);
}

TEST(CrashTest, NoAcknowledgedWriteIsLostWhenTheProcessIsKilled)
{
	for (int rounds : {1, 50, 400})
		nothing_is_lost(false, rounds);
}

TEST(CrashTest, NoAcknowledgedWriteIsLostWithFsync)
{
	nothing_is_lost(true, 20);
}

TEST(StoreTest, ATemporaryDatabaseLeavesNoFiles)
{
	folder tmp;

	setenv("TMPDIR", tmp.path.c_str(), 1);
	directory d("");
	unsetenv("TMPDIR");
	d.plant();
	EXPECT_EQ(rmdir(tmp.path.c_str()), 0) << "the folder is not empty";
	EXPECT_EQ(mkdir(tmp.path.c_str(), 0700), 0);
}

/* --- the map ----------------------------------------------------------------------------------- */

TEST(StoreTest, TheMapGrowsWhenItIsFull)
{
	folder db;
	directory d;

	d.config.map_bytes = 256 << 10;
	ASSERT_TRUE(d.open(db.path)) << d.error;
	d.plant();
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(d.person("u" + std::to_string(i),
				   {{"description", std::string(20000, 'x')}}),
			  LDAP_SUCCESS)
			<< d.result.message;
	EXPECT_GE(d.stats().map_growths, 3u);
	EXPECT_GT(d.stats().map_bytes, 2u << 20);
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(objectClass=person)").size(), 100u);
}

TEST(StoreTest, AMapAtItsLimitRefusesWritesAndServesReads)
{
	folder db;
	directory d;
	int added = 0;

	d.config.map_limit = 256 * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
	ASSERT_TRUE(d.open(db.path)) << d.error;
	d.plant();
	while (added < 10000 && d.person("u" + std::to_string(added),
					 {{"description", std::string(5000, 'x')}}) == 0)
		added++;
	EXPECT_GT(added, 10);
	EXPECT_EQ(d.result.code, LDAP_UNWILLING_TO_PERFORM);
	EXPECT_STREQ(d.result.message,
		     "the database is full: its map has reached the configured limit");
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(objectClass=person)").size(),
		  static_cast<size_t>(added));
	EXPECT_FALSE(d.has("uid=u" + std::to_string(added) + ",ou=people,dc=example"));
	EXPECT_EQ(d.stats().write_failures, 1u);

	EXPECT_LE(d.stats().map_bytes, d.config.map_limit);

	/* Deleting takes a little room, too, of which LMDB keeps none: a larger limit helps. */
	d.close();
	d.config.map_limit = 0;
	ASSERT_TRUE(d.open(db.path)) << d.error;
	EXPECT_EQ(d.person("more"), LDAP_SUCCESS) << d.result.message;
}

TEST(StoreTest, AWriteThatTheFileSystemRefusesChangesNothing)
{
	folder db;
	directory d;
	struct rlimit old, low;

	ASSERT_TRUE(d.open(db.path)) << d.error;
	d.plant();
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	low = old;
	low.rlim_cur = 64 << 10;
	setrlimit(RLIMIT_FSIZE, &low);
	EXPECT_EQ(d.person("ann", {{"description", std::string(200000, 'x')}}), LDAP_OTHER);
	setrlimit(RLIMIT_FSIZE, &old);
	EXPECT_EQ(std::string(d.result.message), "database: File too large");
	EXPECT_FALSE(d.has("uid=ann,ou=people,dc=example"));
	EXPECT_EQ(d.person("ann"), LDAP_SUCCESS) << d.result.message;
}

/* --- what cannot be opened --------------------------------------------------------------------- */

static std::string refusal(const std::string &db)
{
	directory d;

	EXPECT_FALSE(d.open(db));
	EXPECT_EQ(d.error.find('\n'), std::string::npos);
	return d.error;
}

static void overwrite(const std::string &path, off_t at, const std::string &with)
{
	int fd = open(path.c_str(), O_WRONLY);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(pwrite(fd, with.data(), with.size(), at), static_cast<ssize_t>(with.size()));
	close(fd);
}

class BadDatabaseTest : public testing::Test
{
protected:
	void SetUp() override
	{
		directory d(db.path);

		d.plant();
		for (int i = 0; i < 100; i++)
			d.person("u" + std::to_string(i));
	}

	folder db;
	std::string data = db.path + "/data.mdb";
};

TEST_F(BadDatabaseTest, AFileThatIsNotOfLmdbIsNamed)
{
	overwrite(data, 0, std::string(8192, 'x'));
	EXPECT_EQ(refusal(db.path),
		  db.path + ": cannot open the database: data.mdb is damaged, or no file of LMDB; "
			    "restore it, or load the LDIF into an empty directory");
}

TEST_F(BadDatabaseTest, AFileWithoutItsEndIsNamed)
{
	ASSERT_EQ(truncate(data.c_str(), 3 * sysconf(_SC_PAGESIZE)), 0);
	EXPECT_EQ(refusal(db.path),
		  db.path + ": data.mdb is shorter than it says: its end was lost");
}

TEST_F(BadDatabaseTest, AnEntryThatIsDamagedIsReportedAndOthersAreServed)
{
	std::ifstream in(data, std::ios::binary);
	std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
	/* The lengths of texts stand before "uid=u50,…", at the end of the header of 24 bytes. */
	for (size_t at = 0; (at = all.find("uid=u50,ou=people", at)) != std::string::npos; at++)
		overwrite(data, static_cast<off_t>(at) - 8, std::string("\xff\xff\xff\x7f", 4));

	directory d(db.path);
	ASSERT_NE(d.backend, nullptr) << d.error;
	d.search("uid=u50,ou=people,dc=example", BACKEND_BASE, "(uid=*)");
	EXPECT_EQ(d.result.code, LDAP_OTHER);
	EXPECT_STREQ(d.result.message, "database: the database is damaged: an entry has bytes that "
				       "this program never writes");
	EXPECT_TRUE(d.has("uid=u51,ou=people,dc=example"));
	EXPECT_EQ(d.remove("uid=u50,ou=people,dc=example"), LDAP_OTHER);
}

/* Change the files of a folder as another program does: put a value into a table, or into the
 * unnamed one. */
static void put_by_lmdb(const std::string &folder, const char *table, std::string key,
			std::string value)
{
	MDB_val k = {key.size(), &key[0]}, v = {value.size(), &value[0]};
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;

	ASSERT_EQ(mdb_env_create(&env), 0);
	ASSERT_EQ(mdb_env_set_maxdbs(env, 1), 0);
	ASSERT_EQ(mdb_env_open(env, folder.c_str(), 0, 0600), 0);
	ASSERT_EQ(mdb_txn_begin(env, nullptr, 0, &txn), 0);
	ASSERT_EQ(mdb_dbi_open(txn, table, 0, &dbi), 0);
	ASSERT_EQ(mdb_put(txn, dbi, &k, &v, 0), 0);
	ASSERT_EQ(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

TEST(StoreTest, ADatabaseOfAnotherProgramStaysAsItIs)
{
	folder other;
	std::string data = other.path + "/data.mdb";

	put_by_lmdb(other.path, nullptr, "key", "value");
	std::ifstream before_file(data);
	std::string before((std::istreambuf_iterator<char>(before_file)), {});
	EXPECT_EQ(refusal(other.path),
		  other.path + ": cannot open the database: data.mdb belongs to another program");
	std::ifstream after_file(data);
	std::string after((std::istreambuf_iterator<char>(after_file)), {});
	EXPECT_TRUE(before == after);
}

TEST_F(BadDatabaseTest, AnotherFormatIsNamed)
{
	put_by_lmdb(db.path, "texts", "format", "ldapd 1");
	EXPECT_NE(refusal(db.path).find("data.mdb was written by another version of ldapd"),
		  std::string::npos);
}

TEST_F(BadDatabaseTest, ASecondProcessIsRefused)
{
	int fds[2];
	char byte;

	ASSERT_EQ(pipe(fds), 0);
	pid_t child = fork_with_rcu();
	if (child == 0) {
		directory d(db.path);

		(void)!write(fds[1], d.backend ? "1" : "0", 1);
		pause();
	}
	ASSERT_EQ(read(fds[0], &byte, 1), 1);
	EXPECT_EQ(byte, '1');
	EXPECT_EQ(refusal(db.path), db.path + ": another process has this database open");
	kill(child, SIGKILL);
	waitpid(child, nullptr, 0);
	close(fds[0]);
	close(fds[1]);
}

TEST(StoreTest, ADirectoryThatCannotBeWrittenIsNamed)
{
	folder parent;
	std::string file = parent.path + "/file";

	std::ofstream(file) << "x";
	EXPECT_EQ(refusal(file),
		  file + ": cannot create the directory of the database: Not a directory");
	EXPECT_EQ(refusal("/proc/ldapd"),
		  "/proc/ldapd: cannot create the directory of the database: No such file or "
		  "directory");
	/* A folder in which not even root can create files. */
	EXPECT_NE(
		refusal("/proc/self")
			.find("/proc/self/ldapd.lock: cannot write to the database's directory: "),
		std::string::npos);
}

TEST(StoreTest, WrongSettingsGetASentence)
{
	const char *twice[] = {"cn", "commonName", nullptr}, *no_type[] = {"a b", nullptr};
	directory d;

	d.config.suffix = "nonsense";
	EXPECT_FALSE(d.open(""));
	EXPECT_EQ(d.error, "suffix 'nonsense': this is no DN; accepted: a DN like dc=example");
	d.config.indexes = twice;
	EXPECT_FALSE(d.open(""));
	EXPECT_EQ(d.error, "index 'cn' is configured twice");
	d.config.indexes = no_type;
	EXPECT_FALSE(d.open(""));
	EXPECT_EQ(d.error, "index 'a b': this is no attribute type");
}

TEST(StoreTest, IndexesAreBuiltAnewWhenTheConfigurationHasOthers)
{
	folder db;
	const char *old[] = {"cn", nullptr}, *now[] = {"sn", nullptr};
	directory d;

	d.config.indexes = old;
	ASSERT_TRUE(d.open(db.path)) << d.error;
	d.plant();
	d.person("ann");
	d.person("bo");
	d.search("dc=example", BACKEND_SUBTREE, "(sn=ann)");
	EXPECT_EQ(d.candidates, 5u);
	d.close();
	d.config.indexes = now;
	ASSERT_TRUE(d.open(db.path)) << d.error;
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(sn=ann)").size(), 1u);
	EXPECT_EQ(d.candidates, 1u);
	EXPECT_EQ(d.search("dc=example", BACKEND_SUBTREE, "(cn=person ann)").size(), 1u);
	EXPECT_EQ(d.candidates, 5u);
}

} // namespace ldapd_test
