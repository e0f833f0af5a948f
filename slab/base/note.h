/* SPDX-License-Identifier: MIT */
/* One-line notes on stderr, and the last words of a process. */
#ifndef SLAB_BASE_NOTE_H
#define SLAB_BASE_NOTE_H

/* slab_note: "libslab: " and one line on stderr. errno is untouched. */
void slab_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* slab_fatal: slab_note(), then abort. */
void slab_fatal(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif /* SLAB_BASE_NOTE_H */
