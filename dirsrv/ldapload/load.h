/* SPDX-License-Identifier: MIT */
/* What all threads of a run share, and the interface between its parts. */
#ifndef LDAPLOAD_LOAD_H
#define LDAPLOAD_LOAD_H

#include "args.h"
#include "server.h"
#include "session.h"
#include "tally.h"

#include <pthread.h>
#include <time.h>

#define RECEIVE_BYTES 65536
#define NS_PER_SECOND UINT64_C(1000000000)

/* One run. Threads read it; only the atomics change. */
struct load {
	const struct args *args;
	struct server server;
	uint64_t run_id;     /* in the names of entries that it adds */
	uint64_t measure_ns; /* end of the warm-up */
	uint64_t end_ns;     /* UINT64_MAX: the number of operations ends the run */
	atomic_ulong budget; /* operations to start, if their number ends the run */
	atomic_bool stop;    /* end early */
	atomic_bool connected; /* there was a connection */
};

/* One thread with its connections. */
struct worker {
	struct load *load;
	pthread_t thread;
	struct session *sessions;
	unsigned count;
	int epoll;
	bool draining; /* no new operations but deletes that adds owe */
	uint64_t drain_ns; /* when that began */
	uint64_t random;
	uint64_t due_ns, interval_ns; /* of the next operation; 0: no rate limit */
	unsigned flying;       /* operations under way, of all its connections */
	unsigned long opened; /* connections */
	struct session *ready, **ready_end; /* connections that can take an operation */
	struct session **sleeping;     /* that wait for their wake_ns */
	unsigned sleepers;
	uint64_t *owed; /* numbers of entries to delete */
	size_t owed_count, owed_capacity;
	uint64_t next_entry; /* number of the next entry to add */
	char *scratch; /* RECEIVE_BYTES, and one for message_read_answer() */
	BerElement *ber;
	struct tally tally;
};

static inline uint64_t load_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* worker_start: a thread with that many connections, the first of which has number `first`.
 * worker_join: wait until it has ended; its tally can then be read. */
void worker_start(struct worker *worker, struct load *load, unsigned first, unsigned connections);
void worker_join(struct worker *worker);

/* session_has_room: can it take an operation? worker_ready: it can, so queue it.
 * worker_take_ready: the first session in the queue that still can, or NULL. worker_sleep: call
 * session_wake() at its wake_ns. worker_over: no operation starts any more. */
bool session_has_room(const struct session *session);
void worker_ready(struct worker *worker, struct session *session);
struct session *worker_take_ready(struct worker *worker);
void worker_sleep(struct worker *worker, struct session *session);
bool worker_over(const struct worker *worker);

/* operation_start: choose an operation and append its request. `due_ns`: when it should have
 * started, which its latency counts from. */
void operation_start(struct session *session, uint64_t due_ns, uint64_t now_ns);

/* operation_answered: count the flight's result and remove the flight. */
void operation_answered(struct session *session, struct flight *flight, const struct answer *answer,
			uint64_t now_ns);

#endif /* LDAPLOAD_LOAD_H */
