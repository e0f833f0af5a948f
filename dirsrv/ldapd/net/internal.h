/* SPDX-License-Identifier: MIT */
/* What the files of net/ share. */
#pragma once

#include "net/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The queue of work: first in, first out, with as many takers as there are workers. Work is
 * linked by itself, so that the queue needs no memory. MT-safe. */
struct work_queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct work *first, **end;
	unsigned waiting; /* workers */
	bool stopped;
};

void work_queue_init(struct work_queue *queue);
void work_queue_destroy(struct work_queue *queue);

/* work_queue_push: add work, one piece or several linked by `next`. NULL is allowed. */
void work_queue_push(struct work_queue *queue, struct work *work);

/* work_queue_run: run work until the queue was stopped and is empty. */
void work_queue_run(struct work_queue *queue);

/* work_queue_stop: let the workers end once the queue is empty. */
void work_queue_stop(struct work_queue *queue);

/* Bytes that wait to be sent. */
struct chunk {
	struct chunk *next;
	uint32_t length, sent, capacity;
	bool reserved; /* of the cache of refusals, not of slab_malloc() */
	char data[];
};

/* An address that is listened on. */
struct address {
	struct net *net;
	int fd;
	bool local;
	char text[128];
	struct sockaddr_un path; /* local: to unlink it at the end */
	struct work accept;      /* handoff: for the queue of workers */
};

struct net_thread {
	struct net *net;
	pthread_t id;
	int epoll; /* the instance whose events it takes; -1: none */
	bool ready; /* it has asked for a place */
};

/* libslab opens up to three descriptors at any time, and may so take the place of a spare one. */
#define NET_SPARES 4

struct net {
	struct net_config config;
	struct address addresses[NET_ADDRESSES_MAX];
	unsigned address_count;
	int epolls[NET_LISTENERS_MAX];
	unsigned epoll_count;
	_Atomic unsigned next_epoll;
	uint32_t edge; /* EPOLLET: an event is reported once; 0: with inline */
	int wake;     /* eventfd: readable when the threads have to stop */
	int spare[NET_SPARES]; /* given up to accept, and refuse, when there are no descriptors */
	unsigned spares;       /* how many of them are open */
	pthread_rwlock_t spare_lock; /* shared: accepting; exclusive: using `spare` */
	struct work_queue queue;
	/* Connections by descriptor. Readers are in a section of urcu-memb. */
	_Atomic(struct connection *) *table;
	unsigned table_size;
	_Atomic unsigned connections;
	_Atomic uint64_t next_id;
	_Atomic unsigned accepts;
	_Atomic uint32_t next_generation;
	_Atomic bool paused, stopping;
	pthread_mutex_t threads_lock; /* for what follows */
	void *(*run)(void *); /* what a worker does */
	struct net_thread threads[NET_THREADS_MAX + 2];
	unsigned thread_count;
	unsigned blocked; /* threads that wait for something outside, as a name server */
	/* multi: instances whose events a thread may take, and threads that wait for one. */
	int vacant[NET_THREADS_MAX];
	unsigned vacant_count, spare_threads, ready_threads;
	pthread_cond_t vacated;
};

/* Creating and destroying the caches: 0, or -errno. */
int connections_start(void);
int connections_stop(void);
int output_start(void);
int output_stop(void);

/* connection.c. Both functions return a connection with a reference for the caller.
 * connection_find() returns NULL if the descriptor has another connection, or none. */
struct connection *connection_new(struct net *net, int fd);
/* Whether operations or output are unfinished; the caller holds the lock. */
bool connection_busy(const struct connection *connection);
struct connection *connection_find(struct net *net, unsigned fd, uint32_t generation);

/* connection.c: what waits to be sent; the caller holds the lock. output_append() returns false
 * without memory; output_consume: these bytes were sent. */
bool output_append(struct connection *connection, const char *data, size_t length);
void output_consume(struct connection *connection, size_t bytes);

/* output.c: the caller holds the lock. output_flush() returns false for an error of the socket. */
bool output_flush(struct connection *connection);
/* connection_arm: tell epoll which events are wanted now. Returns false if epoll has no memory. */
bool connection_arm(struct connection *connection);

/* input.c: what a connection's event makes to do. event_begin() returns false if another thread
 * handles the connection, which then handles this event as well. event_serve: handle it, and run
 * the work that it makes. */
bool event_begin(struct connection *connection, uint32_t events);
struct work *event_handle(struct connection *connection);
void event_serve(struct connection *connection);

/* address.c */
int address_open(struct address *address, struct net *net, const char *text, char *error,
		 size_t size);
void address_close(struct address *address);
/* accept_one: accept one connection if there is one. @armed is called once the socket may be
 * watched again. Returns false if none was waiting. */
bool accept_one(struct address *address, void (*armed)(struct address *address));
/* spares_open: open the spare descriptors that are missing, as many as there are descriptors for.
 * spares_close: close them. */
void spares_open(struct net *net);
void spares_close(struct net *net);

/* forms.c: the threads' main functions; their argument is a struct net_thread. */
void *listener_thread(void *thread);
void *worker_thread(void *thread);
void *accept_thread(void *thread);
void *multi_thread(void *thread);
/* listener_accept: what a worker does for an address, with handoff. */
void listener_accept(struct work *work);

/* threads.c. threads_start: start a thread; the caller holds threads_lock. 0; or -1 and errno. */
int threads_start(struct net *net, void *(*run)(void *), int epoll);
/* threads_begin: to be called first by each thread. threads_take: wait until there is an instance
 * whose events the thread may take. Returns false when the threads have to stop. */
void threads_begin(struct net_thread *thread);
bool threads_take(struct net_thread *thread);
/* With multi: wait until each thread has asked for a place. Before, net_lengthy() might find no
 * spare thread, and keep a place for minutes. */
void threads_wait_ready(struct net *net);
/* threads_block, threads_unblock: the calling thread will be held up, and is no more. With handoff
 * and multi another thread takes its place meanwhile, and stays for the next time; there are at
 * most NET_THREADS_MAX. */
void threads_block(struct net *net);
void threads_unblock(struct net *net);
void threads_stop(struct net *net);

/* The number of an epoll event: a connection's descriptor and generation. Generation 0 is for
 * addresses (their index) and for the eventfd (EVENT_WAKE). */
#define EVENT_WAKE UINT32_MAX
static inline uint64_t event_data(uint32_t number, uint32_t generation)
{
	return (uint64_t)generation << 32 | number;
}
