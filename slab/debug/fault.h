/* SPDX-License-Identifier: MIT */
/*
 * Faults that can be explained: accesses to sampled objects' guard pages, and
 * pointers to unmapped memory given to slab_free().
 *
 * Looking up the slab of a pointer (slab_of_user(), user_pointer.h) is one load
 * from its segment's head and one from the descriptor. For a pointer that is not
 * libslab's these loads may fault. They stand in a table, as the kernel's own
 * accesses to user memory do: the handler sends the thread on with slab_none,
 * and the free is reported like any other that cannot be done. That costs the
 * fast path nothing.
 */
#ifndef SLAB_DEBUG_FAULT_H
#define SLAB_DEBUG_FAULT_H

#include <stdbool.h>

/*
 * fault_install: handle SIGSEGV and SIGBUS, once; the actions found are taken
 * for every fault that is not ours, and after the report of one that is. A
 * program that sets its own handler later replaces ours: then sampled objects
 * still fault, without a report, unless it calls the handler it found.
 */
void fault_install(void);
bool fault_installed(void);
/* In the child of a fork: no other thread is reporting there. */
void fault_after_fork_child(void);

#endif /* SLAB_DEBUG_FAULT_H */
