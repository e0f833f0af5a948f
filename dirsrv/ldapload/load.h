/* SPDX-License-Identifier: MIT */
/* What all threads of a run share, its connections, and the interface between its parts. */
#pragma once

#include "args.h"
#include "message.h"
#include "report.h"
#include "server.h"

#include <stdatomic.h>
#include <sys/epoll.h>

#define OUTCOMES_MAX 64
#define TEXT_MAX 160

/* How often a kind of operations ended with a code. */
struct outcome {
	enum kind kind;
	int code;
	bool unexpected;
	uint64_t count;
	char text[TEXT_MAX]; /* the first diagnostic message */
};

struct tally {
	struct histogram latency[KIND_COUNT]; /* of measured operations */
	uint64_t in_time[KIND_COUNT];       /* of them, those answered before the end */
	uint64_t entries[KIND_COUNT];       /* that measured searches found */
	uint64_t last_ns;        /* when the last measured one was answered */
	struct outcome outcomes[OUTCOMES_MAX];
	unsigned outcome_count;
	uint64_t unexpected;
};

/* tally_outcome: count how an operation ended; `text` may be NULL and need not end with NUL. */
void tally_outcome(struct tally *tally, enum kind kind, int code, bool unexpected, uint64_t count,
		   const char *text, size_t length);

/* tally_merge: add what `from` has. */
void tally_merge(struct tally *tally, const struct tally *from);

/* tally_code_name: "No such object" for 32. */
const char *tally_code_name(int code);

/* An operation under way. */
struct flight {
	int id;
	enum kind kind;
	bool measured;
	uint64_t started_ns; /* its latency counts from here */
	uint64_t sent_ns;
	uint64_t number; /* of the entry that an add or a delete names */
	unsigned entries;
};

enum session_state { SESSION_CLOSED, SESSION_CONNECTING, SESSION_BINDING, SESSION_OPEN };

struct worker;

struct session {
	struct worker *worker;
	unsigned number; /* of the connection */
	int fd;
	enum session_state state;
	int last_id;
	bool wants_out;   /* epoll waits until it can send */
	bool listed;   /* among the worker's ready ones */
	bool sleeps;   /* among the worker's sleeping ones */
	uint64_t wake_ns;
	uint64_t connect_ns; /* when it began to connect */
	unsigned started;    /* operations of this connection */
	unsigned flying;
	struct flight *flights; /* as many as the depth */
	struct buffer out, in;
	struct session *next; /* ready one */
};

/* session_connect: open the connection; it becomes ready after its bind. */
void session_connect(struct session *session);

/* session_event: what epoll has seen. session_wake: its wake_ns has come. */
void session_event(struct session *session, uint32_t events);
void session_wake(struct session *session);

/* session_flush: send what can be sent. */
void session_flush(struct session *session);

/* session_has_room: can it take another operation? session_ready: queue it, if it can.
 * session_take_ready: the next one of the queue that can, or NULL. */
bool session_has_room(const struct session *session);
void session_ready(struct session *session);
struct session *session_take_ready(struct worker *worker);

/* session_expire: lose it if an answer is later than timeout_ns. */
void session_expire(struct session *session, uint64_t now_ns, uint64_t timeout_ns);

/* session_end: an unbind request, and the end of the connection. */
void session_end(struct session *session);

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
