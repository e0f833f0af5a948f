/* SPDX-License-Identifier: MIT */
/*
 * The control socket, by which slabinfo reads and changes a running process.
 *
 * When a process creates its first cache, libslab opens the socket
 * RUNTIME_DIR/slab/PID.sock. RUNTIME_DIR is $SLAB_RUNTIME_DIR, else
 * $XDG_RUNTIME_DIR, else /run for root; otherwise the directory is /tmp/slab-UID.
 * A thread, "slab-control", serves the socket. SLAB_CONTROL=off switches it off. A failure to
 * open the socket does not affect the cache. docs/control.md has the protocol.
 *
 * A server that wants no such thread serves the socket in its own loop: it calls
 * slab_control_fd() before it creates its first cache, watches the descriptor for input and
 * then calls slab_control_dispatch().
 *
 * The descriptors have high numbers (from 1024, or from half of RLIMIT_NOFILE's soft limit
 * if that is less) and never 0, 1 or 2. A program may close them, as daemons do, and use
 * the numbers for its own files: libslab does not touch those files, also not in the
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
 * Returns a descriptor to watch for input with poll, epoll or select (its number is below
 * 1024 while such numbers are free). The descriptor belongs to libslab. A later call returns
 * the same descriptor, or a new one if the program closed descriptors of libslab. Or
 *   -EPERM  SLAB_CONTROL=off
 *   -EBUSY  the thread already serves the socket
 * or another negative error number. After a fork a child that wants no thread calls this
 * before it creates a cache.
 * One thread at a time may call this function or slab_control_dispatch(). Cancel-safe,
 * fork-safe, not async-signal-safe.
 */
SLAB_API int slab_control_fd(void);

/*
 * slab_control_dispatch: serve waiting requests without blocking, and return unused memory
 * that is due (<slab/memory.h>).
 *
 * Returns the number of answered requests, or -EBADF: the program closed descriptors of
 * libslab, and slab_control_fd() opens new ones; or another negative error number.
 * One thread at a time. Cancel-safe, fork-safe, not async-signal-safe.
 */
SLAB_API int slab_control_dispatch(void);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_CONTROL_H */
