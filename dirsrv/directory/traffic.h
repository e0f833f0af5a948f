/* SPDX-License-Identifier: MIT */
/*
 * The mixed load. Listeners make operations and hand them in batches to the
 * workers, all workers in turn; workers execute them and return them to the
 * listener they came from, which checks the results and frees the operation
 * with everything the worker put into it. So nearly every object that lives as
 * long as an operation is allocated by one thread and freed by another.
 */
#pragma once

#include "fill.h"
#include "result.h"
#include "server.h"

#include <slab/dirsrv/operation.h>

#include <pthread.h>
#include <stdatomic.h>

struct ring {
	_Alignas(64) pthread_mutex_t lock;
	pthread_cond_t filled;
	struct dirsrv_operation_handle *slot;
	size_t mask;
	size_t head; /* next to pop */
	size_t tail; /* next to push */
	bool closed;
};

/* ring_init: room for at least `capacity`; 0, or -1 without memory. */
int ring_init(struct ring *ring, size_t capacity);
void ring_destroy(struct ring *ring);

void ring_push(struct ring *ring, const struct dirsrv_operation_handle *operations, size_t count);

/* ring_close: no thread pushes any more. */
void ring_close(struct ring *ring);

/* ring_pop: up to max operations, waiting for the first; 0: closed and empty. */
size_t ring_pop(struct ring *ring, struct dirsrv_operation_handle *operations, size_t max);

#define BATCH 32
#define WINDOW 256 /* operations that one listener has on their way */

/* Each thread counts for itself; the screen adds up. */
struct worker {
	_Alignas(64) _Atomic uint64_t done[KIND_COUNT];
	struct pblock_use use;
	struct ring inbox;
	struct traffic *traffic;
	pthread_t thread;
};

struct listener {
	_Alignas(64) struct ring returned;
	struct traffic *traffic;
	pthread_t thread;
	unsigned index;
	unsigned next_worker;
	size_t outstanding;
	uint64_t random;
	uint64_t next_id;
	/* Of the slots that are this listener's to add and delete: which have
	 * an entry now, which have none. Those on their way are in neither. */
	uint32_t *present;
	size_t present_count;
	uint32_t *absent;
	size_t absent_count;
	/* What came back. */
	uint64_t entries; /* copies of entries */
	uint64_t wrong;   /* results that cannot be */
	struct pblock_use use;
	int64_t growth;   /* entries added - entries deleted */
};

struct traffic {
	struct directory *directory;
	unsigned threads;
	atomic_bool stop;
	struct worker *workers;
	struct listener *listeners;
};

/* traffic_start: all threads run; 0, or -1 after saying what failed. */
int traffic_start(struct traffic *traffic, struct directory *directory, unsigned threads);

/* traffic_done: operations of each kind so far. Any time, from any thread. */
void traffic_done(const struct traffic *traffic, uint64_t done[KIND_COUNT]);

/*
 * traffic_stop: let all operations end and the threads with them; what they
 * counted goes to *result, how much the directory grew to *growth. Returns how
 * many results were wrong.
 */
uint64_t traffic_stop(struct traffic *traffic, struct result *result, int64_t *growth);

/* The threads, and what a listener needs before and after. */
void *listener_run(void *listener);
int listener_init(struct listener *listener, struct traffic *traffic, unsigned index);
void listener_destroy(struct listener *listener);
