/* SPDX-License-Identifier: MIT */
/* Workers; starting, watching and stopping the threads of the load. */
#define _GNU_SOURCE
#include "traffic.h"

#include <urcu/urcu-memb.h>

/* --- workers: execute operations and send them back ----------------------------------------- */

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

static void *worker_run(void *arg)
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

/* --- all threads ---------------------------------------------------------------------------- */

static int cannot(const char *what, int error)
{
	fprintf(stderr, "directory: cannot start the load: %s: %s\n", what, strerror(error));
	return -1;
}

/* All operations of all listeners may wait for the same worker. */
static int init_threads(struct traffic *traffic)
{
	for (unsigned i = 0; i < traffic->threads; i++) {
		struct worker *worker = &traffic->workers[i];

		memset(worker, 0, sizeof(*worker));
		worker->traffic = traffic;
		if (ring_init(&worker->inbox, (size_t)traffic->threads * WINDOW) ||
		    listener_init(&traffic->listeners[i], traffic, i))
			return -1;
	}
	return 0;
}

/* Reports name the thread. */
static int start(pthread_t *thread, void *(*run)(void *), void *arg, const char *name,
		 unsigned index)
{
	int error = pthread_create(thread, NULL, run, arg);
	char text[16];

	if (error)
		return error;
	snprintf(text, sizeof(text), "%s-%u", name, index % THREADS_MAX);
	pthread_setname_np(*thread, text);
	return 0;
}

int traffic_start(struct traffic *traffic, struct directory *directory, unsigned threads)
{
	int error = 0;

	traffic->directory = directory;
	traffic->threads = threads;
	atomic_init(&traffic->stop, false);
	traffic->workers = aligned_alloc(64, threads * sizeof(*traffic->workers));
	traffic->listeners = aligned_alloc(64, threads * sizeof(*traffic->listeners));
	if (!traffic->workers || !traffic->listeners || init_threads(traffic))
		return cannot("memory", ENOMEM);
	for (unsigned i = 0; i < threads && !error; i++)
		error = start(&traffic->workers[i].thread, worker_run, &traffic->workers[i],
			      "worker", i);
	for (unsigned i = 0; i < threads && !error; i++)
		error = start(&traffic->listeners[i].thread, listener_run, &traffic->listeners[i],
			      "listener", i);
	return error ? cannot("threads", error) : 0;
}

void traffic_done(const struct traffic *traffic, uint64_t done[KIND_COUNT])
{
	for (size_t kind = 0; kind < KIND_COUNT; kind++) {
		done[kind] = 0;
		for (unsigned i = 0; i < traffic->threads; i++)
			done[kind] += atomic_load_explicit(&traffic->workers[i].done[kind],
							   memory_order_relaxed);
	}
}

/* Returns how many reads were wrong. */
static uint64_t add_use(struct result *result, const struct pblock_use *use)
{
	result->pblocks += use->pblocks;
	result->pblock_bytes += use->bytes;
	return use->wrong;
}

uint64_t traffic_stop(struct traffic *traffic, struct result *result, int64_t *growth)
{
	uint64_t wrong = 0;

	*growth = 0;
	atomic_store(&traffic->stop, true);
	for (unsigned i = 0; i < traffic->threads; i++)
		pthread_join(traffic->listeners[i].thread, NULL);
	for (unsigned i = 0; i < traffic->threads; i++) {
		ring_close(&traffic->workers[i].inbox);
		pthread_join(traffic->workers[i].thread, NULL);
	}
	traffic_done(traffic, result->done);
	for (unsigned i = 0; i < traffic->threads; i++) {
		struct listener *listener = &traffic->listeners[i];

		result->returned += listener->entries;
		wrong += listener->wrong;
		wrong += add_use(result, &listener->use);
		wrong += add_use(result, &traffic->workers[i].use);
		*growth += listener->growth;
		ring_destroy(&traffic->workers[i].inbox);
		listener_destroy(listener);
	}
	free(traffic->workers);
	free(traffic->listeners);
	return wrong;
}
