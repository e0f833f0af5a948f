/* SPDX-License-Identifier: MIT */
/*
 * What the control socket's descriptors and thread (control.c) share with its clients
 * (control_clients.c). All of it belongs to whoever serves.
 */
#ifndef SLAB_CONTROL_CLIENTS_H
#define SLAB_CONTROL_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>

#include "json.h"

#define MAX_CLIENTS 64

/* What an event of the epoll descriptor is of; less: the client of that index. */
enum { TAG_LISTENER = MAX_CLIENTS, TAG_TIMER, TAG_PRESSURE };

struct client {
	bool used;
	int fd;
	uint64_t progress; /* when it last sent or took something, ms */
	size_t received;
	size_t sent;
	struct slab_json reply; /* empty while the request is incomplete */
};

extern struct control_server {
	int listener;
	int poll;
	int timer;
	bool muted; /* no slot or descriptor was left: nobody is accepted until a client is
		       dropped, or the timer has run out */
	long period; /* of the timer in ms, 0: off, PERIOD_UNKNOWN: others may have set it */
	pid_t pid;  /* who made the socket and unlinks it; 0: nobody */
	struct stat made; /* … which is this one */
	int error;  /* why the state is FAILED, as -errno */
	unsigned clients;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct client client[MAX_CLIENTS];
} control_server;

/* epoll_ctl(): 0, or -1 and errno. */
int control_watch(int operation, int fd, uint32_t events, unsigned tag);
/* Set the timer as it is wanted now. */
void control_update_timer(void);
/* Milliseconds. */
uint64_t control_now(void);

/* Take in who waits in the listener's queue, if there is a slot or one can be had. */
void control_accept(void);
/* A client is ready. Returns the number of requests answered. */
int control_serve_client(struct client *client);
/* Drop who neither sent nor took anything for long; listen to new ones again. */
void control_drop_idle(void);

#endif /* SLAB_CONTROL_CLIENTS_H */
