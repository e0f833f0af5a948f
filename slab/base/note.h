/* SPDX-License-Identifier: MIT */
/* One-line notes on stderr, and fatal errors. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

/* slab_note: write "libslab: " and one line to stderr. errno keeps its value. */
void slab_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* slab_fatal: slab_note(), then abort. */
void slab_fatal(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* --- for other lines ------------------------------------------------------------------- */

struct note_line {
	char text[512];
	size_t len;
};

/* Format prefix, text and a newline. Longer text is truncated. */
void note_format(struct note_line *line, const char *prefix, const char *format, va_list args);
/* Write up to PIPE_BUF bytes in one call, longer text in several. Waits a second at most for a slow
 * reader, and drops the rest; until something can be written again, it drops without waiting, and
 * then it writes how many texts were dropped. Raises no signal: neither SIGPIPE nor SIGXFSZ. May
 * change errno. */
void note_write(int fd, const char *text, size_t len);
