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
 */
#ifndef SLAB_CONTROL_H
#define SLAB_CONTROL_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * slab_control_fd: open the socket without a thread; returns a descriptor to
 * watch for input (poll, epoll), which stays libslab's, or -errno: -EPERM when
 * SLAB_CONTROL=off, -EBUSY when the thread already serves it.
 */
SLAB_API int slab_control_fd(void);

/* slab_control_dispatch: serve what is waiting, without blocking, and give free
 * memory back when it is time (<slab/memory.h>). Returns the number of requests
 * answered, or -errno. One thread at a time. */
SLAB_API int slab_control_dispatch(void);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_CONTROL_H */
