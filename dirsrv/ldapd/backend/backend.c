/* SPDX-License-Identifier: MIT */
/* Opening and closing the directory; its naming context, numbers and results. */
#include <lmdb.h>
#include <slab/malloc.h>
#include <stdarg.h>
#include <urcu/map/urcu-memb.h>
#include <urcu/urcu-memb.h>

#include "backend/backend.h"
#include "backend/internal.h"
#include "base/bytes.h"
#include "schema/dn.h"

#define CACHE_BYTES ((size_t)64 << 20)

/* Under this name the database has its naming context. */
#define SUFFIX "suffix"

const char *const backend_indexes_default[] = {"objectClass",  "entryUUID", "uid",  "cn",
					       "sn",           "givenName", "mail", "member",
					       "uniqueMember", "ou",        NULL};

/* --- the naming context ----------------------------------------------------------------------- */

bool suffix_holds(struct backend *backend, struct dirsrv_bytes normal)
{
	struct dirsrv_bytes suffix;

	if (!backend_suffix(backend))
		return false;
	suffix = (struct dirsrv_bytes){backend->suffix_normal.data, backend->suffix_normal.length};
	return dn_under(normal, suffix) || bytes_equal(normal, suffix);
}

int suffix_set(struct backend *backend, struct dirsrv_bytes dn)
{
	struct buffer text = {0};

	if (!dn_normalize(dn, &backend->suffix_normal) || !backend->suffix_normal.length)
		return backend->suffix_normal.failed ? -ENOMEM : -EINVAL;
	buffer_append(&text, dn.data, dn.length);
	buffer_byte(&text, '\0');
	if (text.failed) {
		buffer_free(&text);
		return -ENOMEM;
	}
	__atomic_store_n(&backend->suffix, text.data, __ATOMIC_RELEASE);
	return 0;
}

const char *backend_suffix(struct backend *backend)
{
	return __atomic_load_n(&backend->suffix, __ATOMIC_ACQUIRE);
}

int suffix_save(struct backend *backend, struct store_txn *txn)
{
	return store_put_text(txn, SUFFIX, backend->suffix, strlen(backend->suffix));
}

static int save_suffix(struct store_txn *txn, void *arg)
{
	return suffix_save(arg, txn);
}

/* The naming context that the database has. */
static int read_suffix(struct backend *backend)
{
	struct buffer text = {0};
	struct store_txn *txn;
	int error = store_read_begin(backend->store, &txn);

	if (error)
		return error;
	error = store_get_text(txn, SUFFIX, &text);
	store_read_end(txn);
	if (!error && suffix_set(backend, (struct dirsrv_bytes){text.data, text.length}))
		error = STORE_CORRUPT;
	buffer_free(&text);
	return error == MDB_NOTFOUND ? 0 : error;
}

static bool open_suffix(struct backend *backend, const struct backend_config *config, char *error,
			size_t size)
{
	const char *suffix = config->suffix;
	int failed;

	if (suffix && suffix_set(backend, (struct dirsrv_bytes){suffix, strlen(suffix)})) {
		snprintf(error, size, "suffix '%s': this is no DN; accepted: a DN like dc=example",
			 suffix);
		return false;
	}
	failed = suffix ? store_write(backend->store, save_suffix, NULL, backend)
			: read_suffix(backend);
	if (failed)
		snprintf(error, size, "cannot read or write the naming context: %s",
			 store_strerror(failed));
	return !failed;
}

/* Returns false if the database has only a part of the entries that were to be loaded. */
static bool is_complete(struct backend *backend, const struct backend_config *config, char *error,
			size_t size)
{
	struct buffer state = {0};
	struct store_txn *txn;
	int failed = store_read_begin(backend->store, &txn);
	bool begun;

	if (!failed)
		failed = store_get_text(txn, LOAD_STATE, &state);
	store_read_end(txn);
	begun = !failed && state.length == strlen(LOAD_BEGUN) &&
		memcmp(state.data, LOAD_BEGUN, state.length) == 0;
	buffer_free(&state);
	if (begun)
		snprintf(error, size,
			 "%s: loading this database did not end; remove its files, and load again",
			 config->db);
	else if (failed && failed != MDB_NOTFOUND)
		snprintf(error, size, "%s: %s", config->db, store_strerror(failed));
	return !begun && (!failed || failed == MDB_NOTFOUND);
}

/* --- opening, closing ------------------------------------------------------------------------- */

static bool open_store(struct backend *backend, const struct backend_config *config, char *error,
		       size_t size)
{
	struct store_config store = {.db = config->db,
				     .fsync = config->fsync,
				     .map_bytes = config->map_bytes,
				     .map_limit = config->map_limit,
				     .indexes = config->indexes ? config->indexes
								: backend_indexes_default};

	backend->store = store_open(&store, error, size);
	return backend->store != NULL;
}

static bool open_caches(struct backend *backend, const struct backend_config *config, char *error,
			size_t size)
{
	int failed = filter_start();

	if (failed) {
		snprintf(error, size, "cannot create the caches of filters: %s", strerror(-failed));
		return false;
	}
	backend->rcu = config->rcu ? config->rcu : &urcu_memb_flavor;
	backend->pool =
		dirsrv_entry_pool_create(config->pool ? config->pool : "ldapd", backend->rcu);
	if (backend->pool)
		backend->cache = dirsrv_entry_cache_create(
			backend->pool, config->cache_bytes ? config->cache_bytes : CACHE_BYTES, 0);
	if (backend->cache)
		return true;
	snprintf(error, size, "cannot create the entry cache: %s", strerror(errno));
	if (!backend->pool)
		filter_stop();
	return false;
}

struct backend *backend_open(const struct backend_config *config, char *error, size_t size)
{
	struct backend *backend = slab_calloc(1, sizeof(*backend));

	if (!backend) {
		snprintf(error, size, "no memory");
		return NULL;
	}
	for (unsigned i = 0; i < STRIPES; i++)
		pthread_mutex_init(&backend->stripe[i].lock, NULL);
	if (open_store(backend, config, error, size) && open_caches(backend, config, error, size) &&
	    open_suffix(backend, config, error, size) && is_complete(backend, config, error, size))
		return backend;
	backend_close(backend);
	return NULL;
}

static int close_caches(struct backend *backend)
{
	int error = 0;

	if (backend->cache)
		error = dirsrv_entry_cache_destroy(backend->cache, NULL, NULL);
	if (error)
		return error;
	backend->cache = NULL;
	if (!backend->pool)
		return 0;
	error = dirsrv_entry_pool_destroy(backend->pool);
	if (error)
		return error;
	backend->pool = NULL;
	return filter_stop();
}

int backend_close(struct backend *backend)
{
	int error = backend ? close_caches(backend) : 0;

	if (error || !backend)
		return error;
	if (backend->store)
		store_close(backend->store);
	slab_mfree(backend->suffix);
	buffer_free(&backend->suffix_normal);
	for (unsigned i = 0; i < STRIPES; i++)
		pthread_mutex_destroy(&backend->stripe[i].lock);
	slab_mfree(backend);
	return 0;
}

struct dirsrv_entry_pool *backend_pool(struct backend *backend)
{
	return backend->pool;
}

struct dirsrv_entry_cache *backend_cache(struct backend *backend)
{
	return backend->cache;
}

static uint64_t number(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

void backend_stats_read(struct backend *backend, struct backend_stats *stats)
{
	struct store_numbers numbers;

	store_numbers_read(backend->store, &numbers);
	*stats = (struct backend_stats){.entries = numbers.entries,
					.map_bytes = numbers.map_bytes,
					.map_used = numbers.map_used,
					.writes = numbers.writes,
					.write_failures = numbers.write_failures,
					.map_growths = numbers.map_growths,
					.searches = number(&backend->searches),
					.candidates = number(&backend->candidates),
					.scans = number(&backend->scans)};
}

/* --- results -------------------------------------------------------------------------------- */

void result_set(struct backend_result *result, int code, const char *format, ...)
{
	va_list args;

	result->code = code;
	result->fault = false;
	result->matched[0] = '\0';
	va_start(args, format);
	vsnprintf(result->message, sizeof(result->message), format, args);
	va_end(args);
}

void result_store(struct backend_result *result, int error)
{
	switch (error) {
	case 0:
		result_set(result, LDAP_SUCCESS, "%s", "");
		break;
	case STORE_UNDO:
		break;
	case MDB_MAP_FULL:
		result_set(result, LDAP_UNWILLING_TO_PERFORM,
			   "the database is full: its map has reached the configured limit");
		break;
	case ENOMEM:
		result_set(result, LDAP_BUSY, "the server has no memory");
		break;
	default:
		result_set(result, LDAP_OTHER, "database: %s", store_strerror(error));
	}
	result->fault = error && error != STORE_UNDO && error != ENOMEM;
}

void result_no_such_object(struct store_txn *txn, struct dirsrv_bytes normal,
			   struct backend_result *result)
{
	struct row row;
	uint64_t id;

	result_set(result, LDAP_NO_SUCH_OBJECT, "%s", "");
	do {
		normal = dn_normal_parent(normal);
		if (!normal.length)
			return;
	} while (store_find(txn, normal, &id));
	if (store_get(txn, id, &row) || row.dn.length >= sizeof(result->matched))
		return;
	memcpy(result->matched, row.dn.data, row.dn.length);
	result->matched[row.dn.length] = '\0';
}
