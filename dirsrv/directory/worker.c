/* SPDX-License-Identifier: MIT */
/* Workers: execute operations and send them back. */
#include "traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <urcu/urcu-memb.h>

/* What a search of this thread's is finding. */
struct search {
	struct worker *worker;
	Slapi_PBlock *pb;
	struct found *found;
};

/* Readers hold no lock: the entry stays as long as the section. */
static bool send_copy(struct dirsrv_entry *entry, void *arg)
{
	struct search *search = arg;
	struct found *found = memory_or_exit(slab_malloc(sizeof(*found)));

	found->entry = memory_or_exit(dirsrv_entry_copy(entry));
	found->next = search->found;
	search->found = found;
	server_send(&search->worker->use, search->pb, found->entry);
	return true;
}

static void search(struct worker *worker, Slapi_PBlock *pb, enum kind kind)
{
	struct dirsrv_entry_cache *entries = worker->traffic->directory->entries;
	struct search search = {.worker = worker, .pb = pb};

	urcu_memb_read_lock();
	if (kind == KIND_BASE) {
		struct dirsrv_entry *entry =
			dirsrv_entry_cache_lookup(entries, pblock_pointer(pb, SLAPI_TARGET_SDN));

		if (entry)
			send_copy(entry, &search);
	}
	for (const struct filter *term = pblock_pointer(pb, SLAPI_SEARCH_FILTER); term;
	     term = term->next)
		dirsrv_entry_cache_named(entries, term->name, term->length, send_copy, &search);
	urcu_memb_read_unlock();
	pblock_set_pointer(pb, SLAPI_SEARCH_RESULT_SET, search.found);
}

static enum result_code modify(struct worker *worker, Slapi_PBlock *pb)
{
	const struct change *change = pblock_pointer(pb, SLAPI_MODIFY_MODS);
	const struct dirsrv_bytes note = {.data = change->note, .length = change->length};
	struct dirsrv_entry *entry = dirsrv_entry_cache_get(worker->traffic->directory->entries,
							    pblock_pointer(pb, SLAPI_TARGET_SDN));

	if (!entry)
		return RESULT_NO_SUCH_OBJECT;
	if (dirsrv_entry_replace(entry, NOTE_TYPE, strlen(NOTE_TYPE), &note, 1))
		memory_exhausted();
	server_update(&worker->use, pb, entry, entry);
	dirsrv_entry_put(entry);
	return RESULT_SUCCESS;
}

static enum result_code add(struct worker *worker, Slapi_PBlock *pb)
{
	struct dirsrv_entry *entry = pblock_pointer(pb, SLAPI_ADD_ENTRY);

	if (dirsrv_entry_cache_add(worker->traffic->directory->entries, entry))
		return RESULT_ALREADY_EXISTS;
	server_update(&worker->use, pb, NULL, entry);
	return RESULT_SUCCESS;
}

static enum result_code delete(struct worker *worker, Slapi_PBlock *pb) {
	struct dirsrv_entry *entry = dirsrv_entry_cache_remove(worker->traffic->directory->entries,
							       pblock_pointer(pb,
									      SLAPI_TARGET_SDN));

	if (!entry) return RESULT_NO_SUCH_OBJECT;
	server_update(&worker->use, pb, entry, NULL);
	dirsrv_entry_put(entry);
	return RESULT_SUCCESS;
}

static enum result_code execute(struct worker *worker, Slapi_PBlock *pb, enum kind kind)
{
	switch (kind) {
	case KIND_MODIFY:
		return modify(worker, pb);
	case KIND_ADD:
		return add(worker, pb);
	case KIND_DELETE:
		return delete (worker, pb);
	default:
		search(worker, pb, kind);
		return RESULT_SUCCESS;
	}
}

/* Counters are this thread's to write, and anybody's to read. */
static void count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

static void serve(struct worker *worker, struct dirsrv_operation *operation)
{
	const struct request *request = dirsrv_operation_room(operation);
	Slapi_PBlock *pb = dirsrv_operation_pblock(operation);
	enum kind kind = (enum kind)request->kind;

	dirsrv_operation_advance(operation, DIRSRV_OPERATION_EXECUTING);
	server_begin(&worker->use, pb, kind);
	pblock_set_number(pb, SLAPI_RESULT_CODE, (int)execute(worker, pb, kind));
	server_end(&worker->use, pb, kind);
	dirsrv_operation_advance(operation, DIRSRV_OPERATION_DONE);
	histogram_add(&worker->latency,
		      dirsrv_operation_time(operation, DIRSRV_OPERATION_DONE) -
			      dirsrv_operation_time(operation, DIRSRV_OPERATION_EXECUTING));
	count(&worker->done[kind]);
}

/* Returns whose operation it was. */
static struct listener *serve_handle(struct worker *worker, struct dirsrv_operation_handle handle)
{
	struct dirsrv_operation *operation;
	struct listener *listener;

	urcu_memb_read_lock();
	operation = dirsrv_operation_acquire(handle);
	urcu_memb_read_unlock();
	if (!operation) {
		fprintf(stderr, "directory: an operation was over before it was served\n");
		exit(1);
	}
	listener = dirsrv_operation_connection(operation);
	serve(worker, operation);
	dirsrv_operation_put(operation);
	return listener;
}

/* Serve a batch and send it back: runs of the same listener's operations in one go. */
static void serve_batch(struct worker *worker, const struct dirsrv_operation_handle *batch,
			size_t count)
{
	struct listener *listener[BATCH];

	for (size_t i = 0; i < count; i++)
		listener[i] = serve_handle(worker, batch[i]);
	for (size_t from = 0, to; from < count; from = to) {
		to = from + 1;
		while (to < count && listener[to] == listener[from])
			to++;
		ring_push(&listener[from]->returned, batch + from, to - from);
	}
}

void *worker_run(void *arg)
{
	struct worker *worker = arg;
	struct dirsrv_operation_handle batch[BATCH];
	size_t count;

	urcu_memb_register_thread();
	while ((count = ring_pop(&worker->inbox, batch, BATCH)) != 0)
		serve_batch(worker, batch, count);
	urcu_memb_unregister_thread();
	return NULL;
}
