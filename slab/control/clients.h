/* SPDX-License-Identifier: MIT */
/*
 * Data shared by the control socket's state and timer (timer.c), clients (clients.c),
 * descriptors (listener.c) and thread (server.c). All of it belongs to the serving thread.
 */
#ifndef SLAB_CONTROL_CLIENTS_H
#define SLAB_CONTROL_CLIENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/descriptors.h"
#include "stats/json.h"

#define MAX_CLIENTS 64

/* The source of an epoll event; smaller numbers: the client of that index. */
enum { TAG_LISTENER = MAX_CLIENTS, TAG_TIMER, TAG_PRESSURE };

/* Periods of the timer, in microseconds. */
#define TICK_US 100000L
#define SECOND_US 1000000L
#define PERIOD_UNKNOWN (-1L)

/* See server.c. */
enum control_state { IDLE, STARTING, THREAD, LOOP, OFF, FAILED };

extern atomic_int control_state;
/* Set when the main thread ends by pthread_exit(); see watch_main_thread(). */
extern atomic_bool control_main_thread_gone;

struct client {
	bool used;
	struct descriptor socket;
	uint64_t progress; /* when it last sent or received data, ms */
	size_t received;
	size_t sent;
	struct slab_json reply; /* empty while the request is incomplete */
};

extern struct control_server {
	struct watch watch;
	struct descriptor listener;
	struct descriptor timer;
	bool muted; /* no slot or descriptor was left: no client is accepted until one is
		       dropped, or the timer expires */
	long period; /* of the timer in microseconds, 0: off, PERIOD_UNKNOWN: others may have set it */
	pid_t pid; /* the process that made the socket and unlinks it; 0: none */
	struct stat made; /* … which is this one */
	int error; /* why the state is FAILED, as -errno */
	unsigned clients;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct client client[MAX_CLIENTS];
} control_server;

/* --- timer.c ---------------------------------------------------------------------------- */

/* Milliseconds. */
uint64_t control_now(void);
/* Set the timer to the period needed now. */
void control_update_timer(void);
/* The period needed for all work but clients, in microseconds; 0: none. Any thread. */
long control_common_period(void);
/* Start the timer with that period. Any thread; the serving thread corrects the period when
 * the timer expires. */
void control_start_timer(void);

/* --- listener.c ------------------------------------------------------------------------- */

/* Open the descriptors, the epoll with number `from` or higher: 0, or -errno, after which the
 * caller calls control_close(). */
int control_open(unsigned from);
void control_close(void);
/* In the child of a fork: connections and the socket's name are the parent's. */
void control_leave(void);
/* Are all descriptors except the clients' still libslab's? */
bool control_is_open(void);

/* --- clients.c -------------------------------------------------------------------------- */

/* Accept a client from the listener's queue, if a slot is or can be made free. */
void control_accept(void);
/* A client is ready. Returns the number of requests answered. */
int control_serve_client(struct client *client);
void control_drop_clients(void);
/* In the child of a fork. */
void control_forget_clients(void);
/* Drop clients that were idle for too long; accept new ones again. */
void control_drop_idle(void);

#endif /* SLAB_CONTROL_CLIENTS_H */
