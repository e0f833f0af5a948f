/* SPDX-License-Identifier: MIT */
/*
 * Limits that depend on the machine: SLAB_LIMIT=90% is a part of the memory that the process may
 * have, which is that of its control groups (memory.max), or all of the machine.
 *
 * These limits change while the process runs. libslab reads them when the process has grown by a
 * review's step, and before an allocation fails at the limit, but once a second at most. A process
 * that sets no such limit opens no file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The limits of SLAB_LIMIT and SLAB_SOFT_LIMIT, as they are now. true: the first one has risen. The
 * caller holds no lock. */
bool machine_look(void);
/* The program has set a limit: SLAB_LIMIT does not count any longer. */
void machine_forget_limit(void);
/* The bytes that the process may have. */
uint64_t machine_bytes(void);
