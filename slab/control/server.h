/* SPDX-License-Identifier: MIT */
/*
 * The control socket's interface to the rest of the library; <slab/control.h> is its interface
 * to applications.
 */
#pragma once

#include <stdbool.h>

struct slab_json;

/*
 * slab_control_start: open the socket and start its thread, unless an earlier call did so or
 * failed; that check is one atomic load. slab_cache_create() calls it at its end, with no lock
 * held. It returns no error and keeps errno.
 */
void slab_control_start(void);

/*
 * slab_control_start_if_large: slab_control_start() for a cache of slab_malloc(). The program did
 * not ask for such a cache, so the thread starts only once the process has 1 MiB of slabs and large
 * allocations, now or in a later slow path (maintenance.h); with SLAB_CONTROL=on, at once.
 */
void slab_control_start_if_large(void);

/*
 * slab_control_on_request: libslab is the process's malloc(). Unless SLAB_CONTROL is set, the two
 * functions above do nothing: the program does not know of a thread or of descriptors that are not
 * its own. With SLAB_CONTROL=signal:N they do nothing in any process until the signal comes.
 */
void slab_control_on_request(void);

/*
 * slab_control_watch_exit: the program has a cache with callbacks. From exit() on, libslab calls
 * none of them by itself (own_work.h). The caller holds no lock.
 */
void slab_control_watch_exit(void);

/*
 * slab_control_after_fork_child: close the parent's socket and clients in the child of a fork.
 * The next slab_control_start() opens a socket of the child.
 */
void slab_control_after_fork_child(void);

/*
 * slab_control_answer: write the answer to one request line into an empty document. has_rights: the
 * client is root. true: the client may send another request.
 */
bool slab_control_answer(struct slab_json *reply, const char *request, bool has_rights);
