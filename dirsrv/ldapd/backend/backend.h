/* SPDX-License-Identifier: MIT */
/*
 * The directory: what LDAP operations call. Entries are in LMDB, with indexes; dirsrv's entry
 * cache stands before it, with a limit in bytes.
 *
 * Results are those of RFC 4511: a result code (LDAP_… of <ldap.h>), the matched DN, a
 * diagnostic message.
 *
 * Threads: any number of readers beside one writer; writers wait for each other. Each thread
 * that calls a function is registered with the flavour of liburcu (rcu_register_thread()) and
 * outside of an RCU read-side critical section. A write is durable when its function returns
 * success: it survives the end of the process by any signal; with config.fsync also that of the
 * machine.
 *
 * Entries that callbacks and backend_get() pass are never changed: a write makes a new entry.
 * So a reference is enough to read one (dirsrv_entry_get(), dirsrv_entry_put()).
 */
#pragma once

#include <ldap.h>

#include <slab/dirsrv/entry.h>
#include <slab/dirsrv/entry_cache.h>

#include "filter/filter.h"
#include "store/store.h"

struct backend;

struct backend_config {
	/* The directory of the database; NULL: a temporary one, which disappears with the
	 * process. */
	const char *db;
	bool fsync; /* each write waits for the disk */
	size_t map_bytes; /* first size of LMDB's map, which doubles when full; 0: 1 GiB */
	size_t map_limit; /* it does not grow beyond; 0: 1 TiB */
	size_t cache_bytes; /* limit of the entry cache; 0: 64 MiB */
	/* The naming context, which the database keeps. NULL: that of the database; in an empty one
	 * the first entry that is loaded. */
	const char *suffix;
	/* Attribute types with an index of equality, ending with NULL; NULL:
	 * backend_indexes_default. If they differ from those of the database, backend_open() builds
	 * them. */
	const char *const *indexes;
	const char *pool; /* prefix of the slab caches' names; NULL: "ldapd" */
	const struct rcu_flavor_struct *rcu; /* NULL: urcu-memb */
};

/* objectClass, entryUUID, uid, cn, sn, givenName, mail, member, uniqueMember, ou. */
extern const char *const backend_indexes_default[];

/* --- opening, closing ------------------------------------------------------------------- */

/*
 * backend_open: open the directory, and create it if there is none.
 *
 * Returns the backend, or NULL: error[size] has one message, without a line feed, which
 * names the file or the setting and what is wrong with it. One backend per process.
 */
struct backend *backend_open(const struct backend_config *config, char *error, size_t size);

/*
 * backend_close: close it. No other thread uses the backend any more. NULL is allowed.
 * Returns 0, or -EBUSY: threads still have references to entries, and everything stays open.
 */
int backend_close(struct backend *backend);

/* backend_pool, backend_cache: for operations that make entries or DNs of their own, and for
 * monitoring. */
struct dirsrv_entry_pool *backend_pool(struct backend *backend);
struct dirsrv_entry_cache *backend_cache(struct backend *backend);

/* backend_suffix: the naming context as text, valid as long as the backend; NULL: there is none. */
const char *backend_suffix(struct backend *backend);

/* Numbers for monitoring. */
struct backend_stats {
	uint64_t entries;
	uint64_t map_bytes; /* current size of the map */
	uint64_t map_used; /* bytes of it that have data */
	uint64_t writes; /* transactions committed */
	uint64_t write_failures; /* transactions that LMDB refused */
	uint64_t map_growths;
	uint64_t searches;
	uint64_t candidates; /* entries that searches evaluated */
	uint64_t scans; /* searches without the help of an index */
};

void backend_stats_read(struct backend *backend, struct backend_stats *stats);

/* --- results ---------------------------------------------------------------------------- */

/* The result of an operation. Every operation sets all of it. */
struct backend_result {
	bool fault; /* the database failed: the server logs the message */
	int code; /* LDAP_SUCCESS, … */
	char matched[1024]; /* the matched DN, or "" */
	char message[256]; /* or "" */
};

/* --- reading ------------------------------------------------------------------------------ */

enum backend_scope { BACKEND_BASE, BACKEND_ONE, BACKEND_SUBTREE, BACKEND_CHILDREN };

/* Whether a search goes on after an entry. */
enum backend_next {
	BACKEND_CONTINUE,
	BACKEND_STOP /* the search ends with LDAP_SUCCESS; for the end of a page */
};

struct backend_search {
	struct dirsrv_bytes base; /* DN as text */
	enum backend_scope scope;
	struct filter *filter; /* the search calls filter_prepare(); NULL: all entries */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none. Later: LDAP_TIMELIMIT_EXCEEDED */
	unsigned long work_limit; /* entries to evaluate; 0: none. One more:
				     LDAP_ADMINLIMIT_EXCEEDED */
	/* Skip entries up to this id: that of the last entry of the page before. Entries come in
	 * the order of their ids. 0: from the start. */
	uint64_t after_id;
	/* Whether the client abandoned the search: it ends with LDAP_CANCELLED. NULL: never. */
	bool (*abandoned)(void *arg);
	/* Called, perhaps more than once, when the search turns out to take long. NULL: not. */
	void (*lengthy)(void);
	/*
	 * Called for each entry that matches, without locks and outside of any transaction: it may
	 * block without delaying others. The entry is valid during the call; dirsrv_entry_get()
	 * keeps it.
	 */
	enum backend_next (*entry)(struct dirsrv_entry *entry, void *arg);
	void *arg;
	unsigned long candidates; /* set by the search: entries that it evaluated */
};

/*
 * backend_search: LDAP_SUCCESS; LDAP_NO_SUCH_OBJECT with the matched DN; LDAP_INVALID_DN_SYNTAX;
 * a limit (see above); LDAP_CANCELLED; LDAP_ADMINLIMIT_EXCEEDED also for a filter that is too
 * deep; LDAP_OTHER: no memory, or the database failed.
 */
void backend_search(struct backend *backend, struct backend_search *search,
		    struct backend_result *result);

/* backend_get: the entry with a DN, with a reference that the caller puts; NULL: there is none,
 * the text is no DN, or the database failed. */
struct dirsrv_entry *backend_get(struct backend *backend, const char *dn, size_t length);

/* backend_compare: LDAP_COMPARE_TRUE, LDAP_COMPARE_FALSE, LDAP_NO_SUCH_OBJECT,
 * LDAP_NO_SUCH_ATTRIBUTE, LDAP_INVALID_SYNTAX, LDAP_INAPPROPRIATE_MATCHING, … */
void backend_compare(struct backend *backend, struct dirsrv_bytes dn, struct dirsrv_bytes type,
		     struct dirsrv_bytes value, struct backend_result *result);

/* --- writing ------------------------------------------------------------------------------ */

/*
 * `actor` is the DN of the bound client, for creatorsName and modifiersName; "" stands for
 * anonymous. Each call is one transaction. Codes of all: LDAP_SUCCESS, LDAP_INVALID_DN_SYNTAX,
 * LDAP_NO_SUCH_OBJECT with the matched DN, LDAP_UNWILLING_TO_PERFORM: the database is full,
 * or the DN is not below the naming context; LDAP_OTHER: no memory, or the database failed.
 */

/* backend_add: add an entry with these types and values. Also LDAP_ALREADY_EXISTS,
 * LDAP_OBJECT_CLASS_VIOLATION, LDAP_TYPE_OR_VALUE_EXISTS, LDAP_CONSTRAINT_VIOLATION,
 * LDAP_INVALID_SYNTAX, LDAP_UNDEFINED_TYPE. Values of the RDN that are missing are added. */
void backend_add(struct backend *backend, const char *actor, struct dirsrv_bytes dn,
		 const struct dirsrv_pair *pairs, size_t n, struct backend_result *result);

/* backend_delete: delete a leaf. Also LDAP_NOT_ALLOWED_ON_NONLEAF. */
void backend_delete(struct backend *backend, const char *actor, struct dirsrv_bytes dn,
		    struct backend_result *result);

/* The numbers of LDAP. */
enum backend_change { BACKEND_ADD, BACKEND_DELETE, BACKEND_REPLACE };

struct backend_modification {
	enum backend_change change;
	struct dirsrv_bytes type;
	const struct dirsrv_bytes *values;
	/* BACKEND_DELETE: 0 deletes all values; BACKEND_REPLACE: 0 removes the type. */
	size_t count;
};

/* backend_modify: all modifications in their order, or none. Also LDAP_NO_SUCH_ATTRIBUTE,
 * LDAP_TYPE_OR_VALUE_EXISTS, LDAP_CONSTRAINT_VIOLATION, LDAP_INVALID_SYNTAX,
 * LDAP_OBJECT_CLASS_VIOLATION, LDAP_NO_OBJECT_CLASS_MODS, LDAP_NOT_ALLOWED_ON_RDN,
 * LDAP_INAPPROPRIATE_MATCHING, LDAP_UNDEFINED_TYPE, LDAP_PROTOCOL_ERROR. */
void backend_modify(struct backend *backend, const char *actor, struct dirsrv_bytes dn,
		    const struct backend_modification *modifications, size_t n,
		    struct backend_result *result);

/* --- LDIF --------------------------------------------------------------------------------- */

/* Called after each transaction of a load. Returns false to end
 * it, as a failure. */
typedef bool backend_progress_fn(uint64_t entries, void *arg);

/*
 * backend_load: add the entries of an LDIF file, parents before their children, a thousand in a
 * transaction. Entries that cannot be added are reported on stderr, as FILE:LINE: …, and skipped.
 *
 * If the load fails, or the process ends meanwhile, the database has a part of the entries, and
 * backend_open() refuses it.
 *
 * @path  NULL: the machine's Debian package catalogue
 *
 * Returns the number of entries added, or -1: error[size] says why the load ended.
 */
long backend_load(struct backend *backend, const char *path, backend_progress_fn *progress,
		  void *arg, char *error, size_t size);
