/* SPDX-License-Identifier: MIT */
/*
 * Return addresses as text: "entry_new+0x1c (/usr/lib/libentry.so+0x5e12)", with
 * what the dynamic linker knows: the function if it is exported, the object, and the
 * offset in it. slab-symbolize, which reads the report from a log, makes function, file and
 * line of it: "entry_new+0x1c (entry.c:123)".
 */
#ifndef SLAB_SYMBOL_H
#define SLAB_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOL_TEXT 160

/*
 * symbolize: text[i] for each of n return addresses. Async-signal-safe; errno is
 * untouched. The frames are return addresses: for that of an instruction itself, a
 * fault's, give one more.
 */
void symbolize(unsigned n, const void *const *frames, char (*text)[SYMBOL_TEXT]);

/*
 * symbol_locate: the file that a return address lies in, and the offset in it, as
 * slab-symbolize takes them. False: in no file, or its name does not fit.
 * Async-signal-safe; errno is untouched.
 */
bool symbol_locate(const void *frame, char *path, size_t size, uint64_t *ret_offset);

#endif /* SLAB_SYMBOL_H */
