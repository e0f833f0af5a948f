/* SPDX-License-Identifier: MIT */
/*
 * The control socket: how slabinfo reaches a running process.
 *
 * On creation of its first cache a process listens on
 * RUNTIME_DIR/slab/PID.sock, where RUNTIME_DIR is $SLAB_RUNTIME_DIR, else
 * $XDG_RUNTIME_DIR, else /run for root, else the directory is /tmp/slab-UID.
 * A small thread ("slab-control") serves it. SLAB_CONTROL=off switches it off;
 * failing to open it never fails a cache. The protocol is in docs/control.md.
 *
 * A server that wants no extra thread serves the socket in its own loop: it
 * calls slab_control_fd() before its first cache is created, watches the
 * descriptor for input and calls slab_control_dispatch() when there is some.
 *
 * The descriptors have high numbers (from 1024, or from half of RLIMIT_NOFILE's soft limit
 * when that is less) and never 0, 1 or 2. A program may close them, as daemons do, and use
 * the numbers for files of its own: libslab does not touch those files, nor does it in the
 * child of a fork. The control thread opens new descriptors a second later. A program that
 * serves the socket in its own loop calls slab_control_fd() for new ones.
 *
 * Cancellation: as in <slab/slab.h>.
 */
#ifndef SLAB_CONTROL_H
#define SLAB_CONTROL_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * slab_control_fd: open the socket without a thread; returns a descriptor to watch for
 * input with poll, epoll or select (its number is below 1024 while such numbers are free),
 * which stays libslab's. Or -errno: -EPERM when SLAB_CONTROL=off, -EBUSY when the thread
 * already serves it. A later call returns the same descriptor, or a new one when the
 * program closed descriptors of libslab. Only one thread at a time may call this function
 * or slab_control_dispatch().
 */
SLAB_API int slab_control_fd(void);

/* slab_control_dispatch: serve what is waiting, without blocking, and give free
 * memory back when it is time (<slab/memory.h>). Returns the number of requests
 * answered, or -errno. -EBADF means that the program closed descriptors of libslab:
 * slab_control_fd() opens new ones. One thread at a time. */
SLAB_API int slab_control_dispatch(void);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_CONTROL_H */
