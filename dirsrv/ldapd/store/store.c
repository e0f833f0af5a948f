/* SPDX-License-Identifier: MIT */
/* Opening and closing the database. */
#include <slab/malloc.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "store/internal.h"

#define MAP_BYTES ((size_t)1 << 30)
#define MAP_LIMIT ((size_t)1 << 40)

/* What is in the files; a program that reads another version refuses. */
#define FORMAT "ldapd 2"

/* Why files of LMDB are refused. */
#define FILES_FOREIGN (-40002) /* they have tables, and not those of ldapd */
#define FILES_OTHER_FORMAT (-40003)

/* Tables beside the indexes. */
#define TABLES 4

/* A path below the directory of the database. */
struct path {
	char text[4096];
};

/* The longest file name in it, with its slash. */
#define FILE_NAME_MAX 32

static struct path path_of(const char *db, const char *file)
{
	struct path path;

	snprintf(path.text, sizeof(path.text), "%.*s/%.*s",
		 (int)(sizeof(path.text) - FILE_NAME_MAX), db, FILE_NAME_MAX - 2, file);
	return path;
}

/* --- the directory ------------------------------------------------------------------------ */

static bool make_temporary(struct path *path, char *error, size_t size)
{
	const char *tmp = getenv("TMPDIR");

	*path = path_of(tmp && *tmp ? tmp : "/tmp", "ldapd-XXXXXX");
	if (mkdtemp(path->text))
		return true;
	snprintf(error, size, "%s: cannot create a temporary directory: %s", path->text,
		 strerror(errno));
	return false;
}

static bool make_directory(const char *db, char *error, size_t size)
{
	struct stat stat_of;
	int failed = mkdir(db, 0700) ? errno : 0;

	if (!failed || (failed == EEXIST && !stat(db, &stat_of) && S_ISDIR(stat_of.st_mode)))
		return true;
	snprintf(error, size, "%s: cannot create the directory of the database: %s", db,
		 strerror(failed == EEXIST ? ENOTDIR : failed));
	return false;
}

/* One process writes to a database: the entry caches of two would not agree. */
static bool take_lock(struct store *store, const char *db, char *error, size_t size)
{
	struct path path = path_of(db, "ldapd.lock");

	store->lock = open(path.text, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (store->lock < 0) {
		snprintf(error, size, "%s: cannot write to the database's directory: %s", path.text,
			 strerror(errno));
		return false;
	}
	if (!flock(store->lock, LOCK_EX | LOCK_NB))
		return true;
	snprintf(error, size, "%s: another process has this database open", db);
	return false;
}

/* The files of a temporary database have no names any more; the process keeps them. */
static void remove_names(const char *db)
{
	static const char *const files[] = {"data.mdb", "lock.mdb", "ldapd.lock"};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		unlink(path_of(db, files[i]).text);
	rmdir(db);
}

/* --- LMDB --------------------------------------------------------------------------------- */

static unsigned env_flags(const struct store *store, const struct store_config *config)
{
	/* Readers change threads: their slots belong to transactions. */
	unsigned flags = MDB_NOTLS | MDB_NORDAHEAD;

	if (store->temporary || !config->fsync)
		flags |= MDB_NOSYNC;
	return flags;
}

static int open_env(struct store *store, const struct store_config *config, const char *db)
{
	size_t map = config->map_bytes ? config->map_bytes : MAP_BYTES;
	int error = mdb_env_create(&store->env);

	if (error)
		return error;
	store->map_limit = config->map_limit ? config->map_limit : MAP_LIMIT;
	if (map > store->map_limit)
		map = store->map_limit;
	error = mdb_env_set_mapsize(store->env, map);
	if (!error)
		error = mdb_env_set_maxdbs(store->env, STORE_INDEXES_MAX + TABLES);
	if (!error)
		error = mdb_env_set_maxreaders(store->env, STORE_READERS_MAX + 2);
	return error ? error : mdb_env_open(store->env, db, env_flags(store, config), 0600);
}

/* A file that lost its end would kill the process when it is read. */
static bool is_truncated(const struct store *store, const char *db)
{
	struct stat file;
	MDB_envinfo info;
	MDB_stat stat_of;

	return !mdb_env_info(store->env, &info) && !mdb_env_stat(store->env, &stat_of) &&
	       info.me_last_txnid && !stat(path_of(db, "data.mdb").text, &file) &&
	       (uint64_t)file.st_size < (uint64_t)(info.me_last_pgno + 1) * stat_of.ms_psize;
}

static const char *why(int error)
{
	switch (error) {
	case MDB_INVALID:
	case MDB_VERSION_MISMATCH:
	case MDB_CORRUPTED:
	case MDB_PAGE_NOTFOUND:
		return "data.mdb is damaged, or no file of LMDB; restore it, or load the LDIF into an "
		       "empty directory";
	case FILES_FOREIGN:
		return "data.mdb belongs to another program";
	case FILES_OTHER_FORMAT:
		return "data.mdb was written by another version of ldapd; load the LDIF into an "
		       "empty directory";
	default:
		return mdb_strerror(error);
	}
}

static int check_format(struct store_txn *txn)
{
	struct buffer has = {0};
	int error = store_get_text(txn, "format", &has);

	if (!error && (has.length != strlen(FORMAT) || memcmp(has.data, FORMAT, has.length) != 0))
		error = FILES_OTHER_FORMAT;
	buffer_free(&has);
	return error;
}

/* Whether the files have no tables yet. Tables are made in the transaction that writes the format,
 * so files with tables and without the format belong to another program. */
static int are_new(struct store_txn *txn, bool *new)
{
	MDB_stat tables;
	MDB_dbi all;
	int error = mdb_dbi_open(txn->txn, NULL, 0, &all);

	if (!error)
		error = mdb_stat(txn->txn, all, &tables);
	*new = !error && !tables.ms_entries;
	return error;
}

static int open_tables(struct store_txn *txn, void *arg)
{
	struct store *store = txn->store;
	const unsigned ids = MDB_INTEGERKEY | MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP;
	bool new = false;
	int error = are_new(txn, &new);
	unsigned create = new ? MDB_CREATE : 0;

	(void)arg;
	if (!error)
		error = mdb_dbi_open(txn->txn, "entries", create | MDB_INTEGERKEY, &store->entries);
	if (!error)
		error = mdb_dbi_open(txn->txn, "names", create | ids, &store->names);
	if (!error)
		error = mdb_dbi_open(txn->txn, "children", create | ids, &store->children);
	if (!error)
		error = mdb_dbi_open(txn->txn, "texts", create, &store->texts);
	if (!error && create)
		error = store_put_text(txn, "format", FORMAT, strlen(FORMAT));
	else if (!error)
		error = check_format(txn);
	return error == MDB_NOTFOUND || error == MDB_INCOMPATIBLE ? FILES_FOREIGN : error;
}

static bool open_files(struct store *store, const struct store_config *config, const char *db,
		       char *error, size_t size)
{
	int failed = open_env(store, config, db);

	if (!failed && is_truncated(store, db)) {
		snprintf(error, size, "%s: data.mdb is shorter than it says: its end was lost", db);
		return false;
	}
	if (!failed)
		failed = store_write(store, open_tables, NULL, NULL);
	if (failed)
		snprintf(error, size, "%s: cannot open the database: %s", db, why(failed));
	return !failed;
}

/* --- both --------------------------------------------------------------------------------- */

static bool open_all(struct store *store, const struct store_config *config, char *error,
		     size_t size)
{
	struct store_config named = *config;
	struct path temporary;
	bool opened;

	if (!config->db) {
		if (!make_temporary(&temporary, error, size))
			return false;
		named.db = temporary.text;
	} else if (!make_directory(config->db, error, size)) {
		return false;
	}
	opened = take_lock(store, named.db, error, size) &&
		 open_files(store, &named, named.db, error, size) &&
		 store_index_open(store, &named, error, size);
	if (store->temporary)
		remove_names(named.db);
	return opened;
}

struct store *store_open(const struct store_config *config, char *error, size_t size)
{
	struct store *store = slab_calloc(1, sizeof(*store));

	if (!store) {
		snprintf(error, size, "no memory");
		return NULL;
	}
	store->lock = -1;
	store->temporary = !config->db;
	pthread_mutex_init(&store->writer, NULL);
	pthread_mutex_init(&store->gate, NULL);
	pthread_cond_init(&store->moved, NULL);
	if (open_all(store, config, error, size))
		return store;
	store_close(store);
	return NULL;
}

void store_close(struct store *store)
{
	struct store_txn *txn;

	while ((txn = store->idle)) {
		store->idle = txn->next;
		if (txn->scan)
			mdb_cursor_close(txn->scan);
		mdb_txn_abort(txn->txn);
		slab_mfree(txn);
	}
	if (store->env)
		mdb_env_close(store->env);
	if (store->lock >= 0)
		close(store->lock);
	pthread_cond_destroy(&store->moved);
	pthread_mutex_destroy(&store->gate);
	pthread_mutex_destroy(&store->writer);
	slab_mfree(store);
}

static uint64_t number(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

void store_numbers_read(struct store *store, struct store_numbers *numbers)
{
	struct store_txn *txn;
	MDB_envinfo info;
	MDB_stat stat_of;

	*numbers = (struct store_numbers){.writes = number(&store->writes),
					  .write_failures = number(&store->write_failures),
					  .map_growths = number(&store->map_growths)};
	if (store_read_begin(store, &txn))
		return;
	mdb_env_info(store->env, &info);
	if (!mdb_stat(txn->txn, store->entries, &stat_of)) {
		numbers->entries = stat_of.ms_entries;
		numbers->map_used = (uint64_t)(info.me_last_pgno + 1) * stat_of.ms_psize;
	}
	numbers->map_bytes = info.me_mapsize;
	store_read_end(txn);
}
