/* SPDX-License-Identifier: MIT */
/*
 * The state of the control socket's server, shared by its timer (timer.c), clients (clients.c),
 * descriptors (listener.c), events (serve.c), thread (thread.c) and starter (server.c). Only the
 * serving thread uses it, which is the control thread or the caller of slab_control_dispatch(),
 * except where a comment says otherwise.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/descriptors.h"
#include "control/json.h"

#define MAX_CLIENTS 64

/* Tags of epoll events. A smaller number is the index of a client. */
enum { TAG_LISTENER = MAX_CLIENTS, TAG_TIMER, TAG_PRESSURE };

/* Periods of the timer, in microseconds. */
#define TICK_US 100000L
#define SECOND_US 1000000L
#define PERIOD_UNKNOWN (-1L)

/* How the control socket is served: server.c describes the states. */
enum control_state { IDLE, STARTING, THREAD, LOOP, OFF, FAILED };

extern atomic_int control_state;
/* Set when the main thread has ended by pthread_exit(); see watch_main_thread(). */
extern atomic_bool control_main_thread_gone;
/* A futex: control_start_timer() changes it if there is no timer. */
extern uint32_t control_wakes;

struct client {
	bool used;
	bool stays; /* it may send another request after this answer */
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
	/* The timer's period in microseconds; 0: off; PERIOD_UNKNOWN: another thread may have
	 * set the timer. */
	long period;
	pid_t pid; /* the process that created the socket and unlinks it; 0: none */
	struct stat made; /* identifies that socket in the file system */
	atomic_int error; /* why the socket could not be opened, or the thread started, as -errno */
	unsigned clients;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
} control_server;
/* Apart from control_server, whose initial values would make pages of the library's file of
 * them. */
extern struct client control_clients[MAX_CLIENTS];

/* --- timer.c ---------------------------------------------------------------------------- */

/* The monotonic clock in milliseconds. */
uint64_t control_now(void);
/* Set the timer to the period that is needed now. */
void control_update_timer(void);
/* The period that is needed for all work but clients, in microseconds; 0: none. Any thread may
 * call this. */
long control_common_period(void);
/* Start the timer with control_common_period(). Any thread may call this; the serving thread
 * corrects the period when the timer expires. */
void control_start_timer(void);

/* --- listener.c ------------------------------------------------------------------------- */

/* Open the descriptors; the epoll descriptor gets a number of at least `from`. Returns 0, or
 * -errno, and then the caller calls control_close(). */
int control_open(unsigned from);
void control_close(void);
/* Close the descriptors in the child of a fork, without ending the parent's connections or
 * removing its socket. */
void control_leave(void);
/* Do all descriptors except the clients' still belong to libslab? */
bool control_is_open(void);

/* --- clients.c -------------------------------------------------------------------------- */

/* Accept a client from the listener's queue if a slot is free, or if a client was idle for so long
 * that it is dropped for the new one. */
void control_accept(void);
/* Serve a client whose socket is ready. Returns the number of requests answered. */
int control_serve_client(struct client *client);
void control_drop_clients(void);
/* In the child of a fork: forget the parent's clients without ending their connections. */
void control_forget_clients(void);
/* Drop clients that were idle for too long, and accept new ones again. */
void control_drop_idle(void);

/* --- serve.c ---------------------------------------------------------------------------- */

/* Serve all descriptors that are ready. Returns the number of requests answered, or -errno.
 * -EBADF: some descriptors do not belong to libslab any more. */
int control_serve(void);
/* The periodic work that is due, in a thread without descriptors. */
void control_tick_closed(void);

/* --- thread.c --------------------------------------------------------------------------- */

/* Close everything after an error. The first time in a process, write a note. */
void control_give_up(int error);
/* Start the thread, with the descriptors or without. Returns 0 or -errno. */
int control_start_thread(void);
void control_thread_after_fork_child(void);
/* In the main thread: end libslab's own work when the thread calls exit(). */
void control_watch_exit_of_main_thread(void);
