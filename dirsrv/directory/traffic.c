/* SPDX-License-Identifier: MIT */
/* Starting, watching and stopping the threads of the load. */
#define _GNU_SOURCE /* pthread_setname_np() */
#include "traffic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

		histogram_merge(&result->latency, &traffic->workers[i].latency);
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
