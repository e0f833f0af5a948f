/* SPDX-License-Identifier: MIT */
/* Which memory is libslab's own: what the request "read" serves. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* own_memory_has: do these bytes lie in one structure or region of libslab, and not in an object?
 * They may be unmapped at any moment. The caller holds registry_lock. */
bool own_memory_has(const char *start, size_t bytes);
