/* SPDX-License-Identifier: MIT */
/* Loading LDIF: many entries in one transaction. */
#include <lmdb.h>
#include <slab/malloc.h>

#include "backend/internal.h"
#include "schema/dn.h"
#include "source.h"

/* A transaction has at most this many entries, and about this many bytes. */
#define BATCH 1000
#define BATCH_BYTES ((size_t)8 << 20)

struct load {
	struct write write; /* first */
	struct source source;
	struct backend_result result;
	struct record batch[BATCH];
	bool reported[BATCH];
	unsigned n;
	unsigned added; /* of this batch */
	bool names_suffix; /* this batch has the first entry of the database */
	bool last;         /* this batch is the last */
};

/* Read records until the batch is full. SOURCE_END: these are the last. */
static enum source_status read_batch(struct load *load)
{
	struct record record = {0};
	enum source_status status = SOURCE_RECORD;
	size_t bytes = 0;

	load->n = 0;
	while (load->n < BATCH && bytes < BATCH_BYTES) {
		record_clear(&record);
		status = source_next(&load->source, &record);
		if (status != SOURCE_RECORD)
			break;
		load->reported[load->n] = false;
		bytes += record.length;
		record_copy(&load->batch[load->n++], &record);
	}
	record_free(&record);
	return status;
}

static void report(struct load *load, unsigned i)
{
	const struct record *record = &load->batch[i];
	const struct backend_result *result = &load->result;

	/* A transaction that starts again comes here again. */
	if (load->reported[i])
		return;
	load->reported[i] = true;
	fprintf(stderr, "%s:%zu: %s: %s%s%s; this entry is skipped\n", load->source.path,
		record->line, record_dn(record), ldap_err2string(result->code),
		*result->message ? ": " : "", result->message);
}

/* In a database without a naming context the first entry is it. */
static int first_suffix(struct load *load, struct store_txn *txn, struct dirsrv_bytes dn)
{
	if (!backend_suffix(load->write.backend)) {
		if (suffix_set(load->write.backend, dn))
			return ENOMEM;
		load->names_suffix = true;
	}
	return load->names_suffix ? suffix_save(load->write.backend, txn) : 0;
}

static int add_record(struct load *load, struct store_txn *txn, const struct record *record)
{
	struct pairs pairs = {0};
	int error;

	write_begin(&load->write);
	buffer_clear(&load->write.normal);
	load->write.dn = (struct dirsrv_bytes){record_dn(record), record->dn_length};
	if (!dn_normalize(load->write.dn, &load->write.normal)) {
		result_set(&load->result, LDAP_INVALID_DN_SYNTAX, "invalid DN");
		return load->write.normal.failed ? ENOMEM : STORE_UNDO;
	}
	for (size_t i = 0; i < record->count; i++)
		pairs_insert(
			&pairs, i,
			(struct dirsrv_bytes){record_type(record, i), record->pairs[i].type_length},
			(struct dirsrv_bytes){record_value(record, i),
					      record->pairs[i].value_length});
	error = pairs.failed ? ENOMEM : first_suffix(load, txn, load->write.dn);
	if (!error)
		error = add_entry(&load->write, txn, pairs.pair, pairs.count, true);
	pairs_free(&pairs);
	return error;
}

static int change(struct store_txn *txn, void *arg)
{
	struct load *load = arg;
	const char *state = load->last ? LOAD_COMPLETE : LOAD_BEGUN;
	int failed = store_put_text(txn, LOAD_STATE, state, strlen(state));

	if (failed)
		return failed;
	load->added = 0;
	for (unsigned i = 0; i < load->n; i++) {
		int error = add_record(load, txn, &load->batch[i]);

		if (error == STORE_UNDO)
			report(load, i);
		else if (error)
			return error;
		else
			load->added++;
	}
	return 0;
}

/* Returns the number of entries, or -1. */
static long load_all(struct load *load, backend_progress_fn *progress, void *arg, char *error,
		     size_t size)
{
	enum source_status status;
	long added = 0;

	do {
		int failed;

		status = read_batch(load);
		load->last = status == SOURCE_END;
		failed = store_write(load->write.backend->store, change, NULL, load);
		for (unsigned i = 0; i < load->n; i++)
			record_free(&load->batch[i]);
		if (failed) {
			result_store(&load->result, failed);
			snprintf(error, size, "%s: loading ended after %ld entries: %s",
				 load->source.path, added, load->result.message);
			return -1;
		}
		load->names_suffix = false;
		added += load->added;
		if (progress && !progress((uint64_t)added, arg) && !load->last) {
			snprintf(error, size, "%s: loading ended after %ld entries",
				 load->source.path, added);
			return -1;
		}
	} while (status == SOURCE_RECORD);
	if (status == SOURCE_END)
		return added;
	snprintf(error, size, "%s: cannot be read to its end", load->source.path);
	return -1;
}

long backend_load(struct backend *backend, const char *path, backend_progress_fn *progress,
		  void *arg, char *error, size_t size)
{
	struct load *load = slab_calloc(1, sizeof(*load));
	long added = -1;

	if (!load) {
		snprintf(error, size, "no memory");
		return -1;
	}
	load->write = (struct write){.backend = backend, .result = &load->result, .actor = ""};
	if (source_try_open(&load->source, path)) {
		load->source.unlimited = true;
		added = load_all(load, progress, arg, error, size);
		source_close(&load->source);
	} else {
		snprintf(error, size, "%s: cannot be read: %s", load->source.path, strerror(errno));
	}
	write_begin(&load->write);
	buffer_free(&load->write.stale);
	buffer_free(&load->write.normal);
	buffer_free(&load->write.image);
	pairs_free(&load->write.old);
	slab_mfree(load);
	return added;
}
