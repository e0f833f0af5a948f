/* SPDX-License-Identifier: MIT */
/*
 * SLAB_SYMBOLS=on: reports pass through slab-symbolize on their way to stderr or to the file of
 * SLAB_LOG, so they name functions, files and lines at once.
 *
 * libslab starts slab-symbolize when it is loaded. That process reads until no process has the
 * other end of its socket. A report only writes to the socket and starts no process, and
 * slab-symbolize reads it even if the program crashes next.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* filter_write: false: slab-symbolize is not running, and the caller writes the text itself.
 * Async-signal-safe. */
bool filter_write(const char *text, size_t len);
