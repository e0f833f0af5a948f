/* SPDX-License-Identifier: MIT */
/* Opening and closing the directory; its naming contexts and numbers. */
#include "backend/backend.h"

#include <errno.h>
#include <lmdb.h>
#include <slab/malloc.h>
#include <string.h>
#include <urcu/map/urcu-memb.h>
#include <urcu/urcu-memb.h>

#include "backend/internal.h"
#include "schema/dn.h"

#define CACHE_BYTES ((size_t)64 << 20)

/* Under this name the database has its naming contexts, one a line. */
#define SUFFIXES "suffixes"

const char *const backend_indexes_default[] = {"objectClass",  "entryUUID", "uid",  "cn",
					       "sn",           "givenName", "mail", "member",
					       "uniqueMember", "ou",        NULL};

/* --- naming contexts -------------------------------------------------------------------------- */

int suffix_of(struct backend *backend, struct dirsrv_bytes normal)
{
	unsigned n = __atomic_load_n(&backend->suffixes, __ATOMIC_ACQUIRE);

	for (unsigned i = 0; i < n; i++) {
		struct dirsrv_bytes suffix = backend->suffix_normal[i];

		if (dn_under(normal, suffix) ||
		    (normal.length == suffix.length &&
		     memcmp(normal.data, suffix.data, suffix.length) == 0))
			return (int)i;
	}
	return -1;
}

static int append_suffix(struct backend *backend, struct dirsrv_bytes dn)
{
	struct buffer text = {0}, normal = {0};
	unsigned n = backend->suffixes;

	if (!dn_normalize(dn, &normal) || !normal.length) {
		buffer_free(&normal);
		return -EINVAL;
	}
	buffer_append(&text, dn.data, dn.length);
	buffer_byte(&text, '\0');
	if (n == SUFFIXES_MAX || text.failed) {
		buffer_free(&normal);
		buffer_free(&text);
		return n == SUFFIXES_MAX ? -E2BIG : -ENOMEM;
	}
	backend->suffix[n] = text.data;
	backend->suffix_normal[n] = (struct dirsrv_bytes){normal.data, normal.length};
	__atomic_store_n(&backend->suffixes, n + 1, __ATOMIC_RELEASE);
	return 0;
}

int suffix_add(struct backend *backend, struct dirsrv_bytes dn)
{
	int error;

	pthread_mutex_lock(&backend->lock);
	error = append_suffix(backend, dn);
	pthread_mutex_unlock(&backend->lock);
	return error;
}

const char *backend_suffix(struct backend *backend, unsigned i)
{
	return i < __atomic_load_n(&backend->suffixes, __ATOMIC_ACQUIRE) ? backend->suffix[i]
									 : NULL;
}

int suffix_save(struct backend *backend, struct store_txn *txn)
{
	struct buffer has = {0}, now = {0};
	const char *suffix;
	int error = store_get_text(txn, SUFFIXES, &has);

	for (unsigned i = 0; (suffix = backend_suffix(backend, i)); i++) {
		if (i)
			buffer_byte(&now, '\n');
		buffer_text(&now, suffix);
	}
	if (error == MDB_NOTFOUND)
		error = 0;
	if (!error && (has.failed || now.failed))
		error = ENOMEM;
	if (!error && (has.length != now.length ||
		       (now.length && memcmp(has.data, now.data, now.length) != 0)))
		error = store_put_text(txn, SUFFIXES, now.data, now.length);
	buffer_free(&has);
	buffer_free(&now);
	return error;
}

static int save_suffixes(struct store_txn *txn, void *arg)
{
	return suffix_save(arg, txn);
}

/* The naming contexts that the database has. */
static int read_suffixes(struct backend *backend)
{
	struct buffer text = {0};
	struct store_txn *txn;
	int error = store_read_begin(backend->store, &txn);

	if (error)
		return error;
	error = store_get_text(txn, SUFFIXES, &text);
	store_read_end(txn);
	for (size_t at = 0; at < text.length && !error;) {
		const char *line = text.data + at;
		const char *end = memchr(line, '\n', text.length - at);
		size_t length = end ? (size_t)(end - line) : text.length - at;

		if (suffix_add(backend, (struct dirsrv_bytes){line, length}))
			error = STORE_CORRUPT;
		at += length + 1;
	}
	buffer_free(&text);
	return error == MDB_NOTFOUND ? 0 : error;
}

static bool add_configured(struct backend *backend, const char *const *suffix, char *error,
			   size_t size)
{
	for (; *suffix; suffix++) {
		int failed = suffix_add(backend, (struct dirsrv_bytes){*suffix, strlen(*suffix)});

		if (!failed)
			continue;
		snprintf(error, size, "suffix '%s': %s", *suffix,
			 failed == -EINVAL  ? "this is no DN; accepted: a DN like dc=example"
			 : failed == -E2BIG ? "there are more than 16 suffixes"
					    : "no memory");
		return false;
	}
	return true;
}

static bool open_suffixes(struct backend *backend, const struct backend_config *config, char *error,
			  size_t size)
{
	bool configured = config->suffixes && config->suffixes[0];
	int failed = 0;

	if (configured && !add_configured(backend, config->suffixes, error, size))
		return false;
	if (!configured)
		failed = read_suffixes(backend);
	else
		failed = store_write(backend->store, save_suffixes, NULL, backend);
	if (failed)
		snprintf(error, size, "cannot read or write the naming contexts: %s",
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

/* --- opening, closing -------------------------------------------------------------------------- */

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
	pthread_mutex_init(&backend->lock, NULL);
	for (unsigned i = 0; i < STRIPES; i++)
		pthread_mutex_init(&backend->stripe[i].lock, NULL);
	if (open_store(backend, config, error, size) && open_caches(backend, config, error, size) &&
	    open_suffixes(backend, config, error, size) &&
	    is_complete(backend, config, error, size))
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
	for (unsigned i = 0; i < backend->suffixes; i++) {
		slab_mfree(backend->suffix[i]);
		slab_mfree((void *)backend->suffix_normal[i].data);
	}
	for (unsigned i = 0; i < STRIPES; i++)
		pthread_mutex_destroy(&backend->stripe[i].lock);
	pthread_mutex_destroy(&backend->lock);
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
