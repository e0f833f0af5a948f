/* SPDX-License-Identifier: MIT */
/*
 * Searching. The candidates are found in one transaction; their entries are read some at a time,
 * each time in a transaction of its own. Filters are evaluated, and entries are passed to the
 * caller, outside of transactions: a caller that waits for its client delays no other thread.
 */
#include <lmdb.h>

#include "backend/internal.h"
#include "schema/dn.h"

/* Entries that are read in one transaction. */
#define BATCH 64

/* How often in turn a search goes on without memory for an entry. */
#define FAILURES_MAX 4

/* A search on its way. */
struct walk {
	struct backend *backend;
	struct backend_search *search;
	struct backend_result *result;
	struct buffer normal; /* of the base */
	uint64_t base;
	struct ids ids;
	size_t at; /* the next of ids */
	bool scan; /* all entries by id, not ids */
	uint64_t last; /* scan: the last id that was read */
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void count(uint64_t *counter, uint64_t more)
{
	__atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
}

static void note_lengthy(const struct walk *walk)
{
	if (walk->search->lengthy)
		walk->search->lengthy();
}

/* --- one entry ------------------------------------------------------------------------------ */

/* Whether the search has reached a limit, and its result then. */
static bool must_end(struct walk *walk)
{
	struct backend_search *search = walk->search;

	if (search->abandoned && search->abandoned(search->arg))
		result_set(walk->result, LDAP_CANCELLED, "%s", "");
	else if (search->deadline_ns && now() > search->deadline_ns)
		result_set(walk->result, LDAP_TIMELIMIT_EXCEEDED, "%s", "");
	else if (search->work_limit && search->candidates >= search->work_limit)
		result_set(walk->result, LDAP_ADMINLIMIT_EXCEEDED,
			   "the search has evaluated %lu entries; use a filter that an index knows",
			   search->candidates);
	else
		return false;
	return true;
}

/* Evaluate an entry and pass it on. False: the search is over. */
static bool visit(struct walk *walk, struct dirsrv_entry *entry)
{
	struct backend_search *search = walk->search;

	if (must_end(walk))
		return false;
	search->candidates++;
	if (search->filter && filter_matches(search->filter, entry) != FILTER_TRUE)
		return true;
	return search->entry(entry, search->arg) == BACKEND_CONTINUE;
}

/* --- batches --------------------------------------------------------------------------------- */

static bool in_scope(const struct walk *walk, uint64_t id, const struct row *row)
{
	struct dirsrv_bytes base = {walk->normal.data, walk->normal.length};

	switch (walk->search->scope) {
	case BACKEND_ONE:
		return row->parent == walk->base;
	case BACKEND_SUBTREE:
		return id == walk->base || dn_under(row->normal, base);
	default:
		return dn_under(row->normal, base);
	}
}

/* The next row; MDB_NOTFOUND: no more. */
static int next_row(struct walk *walk, struct store_txn *txn, uint64_t *id, struct row *row)
{
	int error = MDB_NOTFOUND;

	if (walk->scan) {
		error = store_next(txn, &walk->last, row);
		*id = walk->last;
		return error;
	}
	/* An entry may have been deleted since. */
	while (error == MDB_NOTFOUND && walk->at < walk->ids.count) {
		*id = walk->ids.id[walk->at++];
		error = store_get(txn, *id, row);
	}
	return error;
}

/* Read entries until the batch is full; MDB_NOTFOUND: these were the last. */
static int read_batch(struct walk *walk, struct dirsrv_entry *batch[BATCH], unsigned *n)
{
	struct store_txn *txn;
	int error = store_read_begin(walk->backend->store, &txn);

	*n = 0;
	for (unsigned rows = 0; !error && *n < BATCH && rows < 16 * BATCH; rows++) {
		const uint64_t last = walk->last;
		const size_t at = walk->at;
		struct row row;
		uint64_t id;

		error = next_row(walk, txn, &id, &row);
		if (error || !in_scope(walk, id, &row))
			continue;
		batch[*n] = cache_entry(walk->backend, txn, id, &row, &error);
		*n += batch[*n] != NULL;
		if (error != ENOMEM)
			continue;
		/* The search may go on with this row. */
		walk->last = last;
		walk->at = at;
	}
	store_read_end(txn);
	return error;
}

/* Without memory for an entry, make room and try again. Returns the error that ends the search, or
 * 0. */
static int try_again(struct walk *walk, int error, unsigned n, unsigned *failures)
{
	*failures = n ? 0 : *failures + 1;
	if (error != ENOMEM || *failures == FAILURES_MAX)
		return error;
	cache_give_back(walk->backend);
	return 0;
}

static void visit_all(struct walk *walk)
{
	struct dirsrv_entry *batch[BATCH];
	unsigned failures = 0;
	bool more = true;
	int error = 0;

	for (unsigned batches = 0; more && !error; batches++) {
		unsigned n;

		if (batches == 1)
			note_lengthy(walk);
		error = read_batch(walk, batch, &n);
		for (unsigned i = 0; i < n; i++) {
			more = more && visit(walk, batch[i]);
			dirsrv_entry_put(batch[i]);
		}
		error = try_again(walk, error, n, &failures);
		if (!n && !error && more)
			more = !must_end(walk);
	}
	if (error && error != MDB_NOTFOUND)
		result_store(walk->result, error);
}

/* --- where to look --------------------------------------------------------------------------- */

/* All entries of the database are below this one. */
static int is_top(struct walk *walk, struct store_txn *txn, bool *top)
{
	struct ids contexts = {0};
	int error = walk->base == ROW_ROOT ? 0 : store_children(txn, ROW_ROOT, &contexts);

	*top = walk->base == ROW_ROOT || (contexts.count == 1 && contexts.id[0] == walk->base);
	ids_free(&contexts);
	return error;
}

/* The entries in the scope, when the indexes cannot tell. */
static int find_scope(struct walk *walk, struct store_txn *txn)
{
	int error;

	count(&walk->backend->scans, 1);
	if (walk->search->scope == BACKEND_ONE)
		return store_children(txn, walk->base, &walk->ids);
	error = is_top(walk, txn, &walk->scan);
	if (error || walk->scan)
		return error;
	note_lengthy(walk);
	if (walk->search->scope == BACKEND_SUBTREE)
		ids_append(&walk->ids, walk->base);
	error = store_descendants(txn, walk->base, &walk->ids);
	ids_sort(&walk->ids);
	return error;
}

/* Many candidates, of which few are children of the base. */
static int narrow(struct walk *walk, struct store_txn *txn)
{
	struct ids children = {0};
	int error;

	if (walk->search->scope != BACKEND_ONE || walk->ids.count <= BATCH)
		return 0;
	error = store_children(txn, walk->base, &children);
	if (!error)
		ids_intersect(&walk->ids, &children);
	ids_free(&children);
	return error;
}

static int plan(struct walk *walk, struct store_txn *txn)
{
	struct dirsrv_bytes base = {walk->normal.data, walk->normal.length};
	bool all;
	int error = store_find(txn, base, &walk->base);

	if (error == MDB_NOTFOUND) {
		result_no_such_object(txn, base, walk->result);
		return STORE_UNDO;
	}
	if (!error)
		error = candidates_find(txn, walk->search->filter, &walk->ids, &all);
	if (!error)
		error = all ? find_scope(walk, txn) : narrow(walk, txn);
	if (!error && walk->ids.failed)
		error = ENOMEM;
	walk->last = walk->search->after_id;
	walk->at = ids_after(&walk->ids, walk->search->after_id);
	return error;
}

static void search_below(struct walk *walk)
{
	struct store_txn *txn;
	int error = store_read_begin(walk->backend->store, &txn);

	if (!error)
		error = plan(walk, txn);
	store_read_end(txn);
	if (error)
		result_store(walk->result, error);
	else
		visit_all(walk);
}

static void search_base(struct walk *walk)
{
	struct dirsrv_entry *entry;

	if (cache_find(walk->backend, walk->search->base, &entry, walk->result))
		return;
	if (dirsrv_entry_id(entry) > walk->search->after_id)
		visit(walk, entry);
	dirsrv_entry_put(entry);
}

void backend_search(struct backend *backend, struct backend_search *search,
		    struct backend_result *result)
{
	struct walk walk = {.backend = backend, .search = search, .result = result};
	int error = search->filter ? filter_prepare(search->filter) : 0;

	search->candidates = 0;
	count(&backend->searches, 1);
	result_set(result, LDAP_SUCCESS, "%s", "");
	if (error == -E2BIG)
		result_set(result, LDAP_ADMINLIMIT_EXCEEDED,
			   "the filter is nested more than %d deep", FILTER_DEPTH_MAX);
	else if (!error && search->scope == BACKEND_BASE)
		search_base(&walk);
	else if (!error && dn_normalize(search->base, &walk.normal))
		search_below(&walk);
	else if (error || walk.normal.failed)
		result_store(result, ENOMEM);
	else
		result_set(result, LDAP_INVALID_DN_SYNTAX, "invalid DN");
	count(&backend->candidates, search->candidates);
	ids_free(&walk.ids);
	buffer_free(&walk.normal);
}
