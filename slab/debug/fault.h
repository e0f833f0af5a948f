/* SPDX-License-Identifier: MIT */
/*
 * Faults that libslab explains: accesses to the guard pages of sampled objects, and loads in
 * slab_free() for a pointer to unmapped memory.
 *
 * Looking up the user of a pointer's slab (slab_has_user(), user_pointer.h) is one load from its
 * segment's head, which may fault if the pointer is not from libslab. The address of the load is in
 * a table, like the kernel's exception table for accesses to user memory: the handler continues the
 * thread with no user as the result, and the free is reported as a bad free. The fast path needs no
 * check for this.
 */
#pragma once

#include <stdbool.h>

/*
 * fault_install: install the handler of SIGSEGV and SIGBUS. Further calls do nothing. The
 * handler passes a fault on to the action that it replaced if libslab does not explain the
 * fault, or after the report. A program that installs its own handler later replaces this one:
 * bad accesses to sampled objects then fault without a report, unless the program's handler
 * calls the one that it replaced.
 */
void fault_install(void);
bool fault_installed(void);
/* In the child of a fork: the thread that was reporting does not exist there. */
void fault_after_fork_child(void);
