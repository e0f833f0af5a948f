/* SPDX-License-Identifier: MIT */
/*
 * The process behind a socket. Any user that may write to its directory can give a socket
 * any name; the kernel knows which process listens.
 */
#ifndef INSPECT_PEER_H
#define INSPECT_PEER_H

#include <sys/types.h>

/*
 * peer_connect: connect to the socket, waiting at most `seconds`, also for what
 * is sent and received then; 0 seconds: not at all. Returns the descriptor, or -1
 * and errno: EAGAIN, it takes longer.
 */
int peer_connect(const char *path, int seconds);

/*
 * peer_pid: the pid of the process that listens to what `fd` is connected to, when it
 * is the one that calls itself `named`: by its pid here, or in the container where it
 * runs, and it listened as the user that it works as now, or as root. 0: it is another
 * one. A process that cannot be seen from here is believed when it is root's or of
 * the caller's user.
 */
pid_t peer_pid(int fd, pid_t named);

#endif /* INSPECT_PEER_H */
