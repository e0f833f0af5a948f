/* SPDX-License-Identifier: MIT */
/*
 * The process that listens on a socket. A user who may write to the directory can give a socket any
 * name, so the name does not prove which process it is; the kernel knows.
 */
#pragma once

#include "posix.h"

/*
 * peer_connect: connect to the socket, which may be one in the root of another process
 * ("/proc/PID/root/run/slab/7.sock"). The timeout of `seconds` holds for the connection and for
 * each later send and receive; 0: do not wait. Returns the descriptor, or -1 and errno; EAGAIN: a
 * timeout.
 */
int peer_connect(const char *path, int seconds);

/*
 * peer_pid: the pid of the process that listens on the socket to which `fd` is connected. 0: it is
 * not the process `named`. `named` must be its pid here, or in its own container, and it must
 * have begun to listen as its present user, or as root; only root accepts another user's. So a
 * process that cannot be seen from here is not accepted.
 */
pid_t peer_pid(int fd, pid_t named);

/* peer_open: peer_connect() to this process; EPERM: another one listens. */
int peer_open(const char *path, pid_t pid, int seconds);

/* listening_path: where the process listens, "/proc/PID/root/run/slab/7.sock" for peer_connect().
 * false: it does not listen on a socket with its number, or this user may not know. */
bool listening_path(pid_t pid, char path[PATH_MAX]);
