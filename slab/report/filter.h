/* SPDX-License-Identifier: MIT */
/*
 * SLAB_SYMBOLS=on: reports pass through slab-symbolize on their way to stderr or to the file
 * of SLAB_LOG, and so name functions, files and lines at once.
 *
 * slab-symbolize is started when libslab is loaded, and reads until no process has the other
 * end of its socket any more. A report does nothing but write: it starts nothing, and what
 * was written before a crash is still read after it.
 */
#ifndef SLAB_FILTER_H
#define SLAB_FILTER_H

#include <stdbool.h>
#include <stddef.h>

/* filter_write: false: there is no slab-symbolize, or it is gone; the text is still to be
 * written. Async-signal-safe. */
bool filter_write(const char *text, size_t len);

#endif /* SLAB_FILTER_H */
