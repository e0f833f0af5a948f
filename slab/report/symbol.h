/* SPDX-License-Identifier: MIT */
/*
 * Return addresses as text: "entry_new+0x1c (entry.c:123)".
 *
 * Debug information is read by a program of its own, slab-symbolize, started for
 * the report: the library depends on nothing for it, calls no malloc, and can do
 * it in a process that is crashing. Without that program, or without debug
 * information, what the dynamic linker knows has to do: "libfoo.so+0x1234".
 */
#ifndef SLAB_SYMBOL_H
#define SLAB_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOL_TEXT 128

/*
 * symbolize: text[i] for each of n return addresses. Takes at most ten seconds,
 * whatever happens. Async-signal-safe; errno is untouched. The frames are return
 * addresses: for that of an instruction itself, a fault's, give one more.
 *
 * What was found is remembered by address. After a dlclose() another object may
 * take the place, and its functions get the names of the old ones.
 */
void symbolize(unsigned n, const void *const *frames, char (*text)[SYMBOL_TEXT]);

/*
 * symbol_locate: the file that a return address lies in, and where in it, as
 * slab-symbolize takes them. False: in no file, or its name does not fit.
 * Async-signal-safe; errno is untouched.
 */
bool symbol_locate(const void *frame, char *path, size_t size, uint64_t *ret_offset);

/* For tests: another program than slab-symbolize (NULL: that one), another
 * deadline (0: ten seconds), and nothing remembered. */
void symbol_use(const char *program, unsigned deadline_ms);

#endif /* SLAB_SYMBOL_H */
