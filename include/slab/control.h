/* SPDX-License-Identifier: MIT */
/*
 * The control socket, by which slabinfo reads and changes a running process.
 *
 * When a process first calls slab_cache_create(), libslab opens the socket
 * RUNTIME_DIR/slab/PID.sock. In a process that only calls slab_malloc(), libslab does so once
 * the process has 1 MiB of slabs and large allocations; with SLAB_CONTROL=on, at the first
 * call of up to 32 KiB. RUNTIME_DIR is $SLAB_RUNTIME_DIR; else $XDG_RUNTIME_DIR, if it
 * belongs to the user; else /run for root, and /tmp/slab-UID for other users. libslab's
 * control thread, "slab-control", serves the socket. SLAB_CONTROL=off switches socket and
 * thread off; where libslab is malloc(), that is the default (slab_replace_malloc()). With
 * SLAB_CONTROL=signal:N libslab opens the socket after signal number N. If libslab cannot open
 * the socket, caches work without it, the control thread returns memory, and libslab tries again
 * later. docs/control.md describes the protocol.
 *
 * A program that wants no such thread serves the socket in its own loop: it calls
 * slab_control_fd() before libslab opens the socket, watches the descriptor for input and
 * then calls slab_control_dispatch():
 *
 *	struct pollfd in = {.fd = slab_control_fd(), .events = POLLIN};
 *
 *	while (poll(&in, 1, -1) > 0)
 *		slab_control_dispatch();
 *
 * After a fork the child has neither the socket nor the thread. libslab opens a new socket,
 * and starts a thread, when the child next calls slab_cache_create(). For caches that
 * slab_malloc() creates in the child, the rule of 1 MiB applies again. If the parent had the
 * thread, libslab also does so when the child has memory to return. A child that wants no
 * thread calls slab_control_fd() first.
 *
 * The descriptors have high numbers (from 1024, or from half of RLIMIT_NOFILE's soft limit
 * if that is less) and never 0, 1 or 2. A program may close them, as daemons do, and use
 * the numbers for its own files. libslab does not touch those files, also not in the
 * child of a fork. The control thread opens new descriptors a second later. A program that
 * serves the socket in its own loop calls slab_control_fd() for new ones.
 *
 * <slab/slab.h> defines the conventions of errors and safety.
 */
#ifndef SLAB_CONTROL_H
#define SLAB_CONTROL_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * slab_control_fd: open the socket without a thread.
 *
 * The descriptor is for input with poll, epoll or select. Its number is below 1024 while such
 * numbers are free. It belongs to libslab. A later call returns the same descriptor, or a new
 * one if the program closed descriptors of libslab.
 *
 * Returns the descriptor, or
 *   -EPERM  SLAB_CONTROL=off
 *   -EBUSY  the control thread already serves the socket
 * or the negative error number with which the socket could not be opened. Then the process has
 * no socket, slow paths of allocations and frees return unused memory, and a later call tries
 * again.
 * Only one thread at a time may call this function or slab_control_dispatch(). It is
 * fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_control_fd(void);

/*
 * slab_control_dispatch: serve waiting requests without blocking, and return unused memory
 * that is due (<slab/memory.h>). The descriptor becomes readable for that, too.
 *
 * Returns the number of answered requests, or
 *   -EBADF          the program closed descriptors of libslab; slab_control_fd() opens new ones
 *   -EINVAL         this process has not called slab_control_fd(), as after a fork
 *   -EPERM, -EBUSY  as slab_control_fd()
 * or another negative error number.
 * Only one thread at a time may call it. It is fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_control_dispatch(void);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_CONTROL_H */
