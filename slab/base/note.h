/* SPDX-License-Identifier: MIT */
/* One-line notes on stderr, and the last words of a process. */
#ifndef SLAB_BASE_NOTE_H
#define SLAB_BASE_NOTE_H

#include <stdarg.h>
#include <stddef.h>

/* slab_note: "libslab: " and one line on stderr. errno is untouched. */
void slab_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* slab_fatal: slab_note(), then abort. */
void slab_fatal(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* --- for other lines ------------------------------------------------------------------- */

struct note_line {
	char text[512];
	size_t len;
};

/* Prefix, text, newline; what is too long is cut. */
void note_format(struct note_line *line, const char *prefix, const char *format, va_list args);
/* One write; more only when the system takes less than was offered. Waits a second at most
 * for a reader that is slow. */
void note_write(int fd, const char *text, size_t len);

#endif /* SLAB_BASE_NOTE_H */
