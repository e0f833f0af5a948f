/* SPDX-License-Identifier: MIT */
/* ldapd-malloc: memory from malloc(), through ../malloc_side. */
#include "malloc_side.h"
#include "memory.h"

const char memory_name[] = "malloc";

/* No thread looks for an operation after its last reference has gone. */
const char malloc_side_freed_at_once[] = "ldapd.operation";
