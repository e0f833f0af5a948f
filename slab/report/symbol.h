/* SPDX-License-Identifier: MIT */
/*
 * Return addresses as text: "entry_new+0x1c (/usr/lib/libentry.so+0x5e12)". The text has the
 * function if it is exported, the object file, and the offset in it. slab-symbolize, which reads
 * reports, replaces this by function, file and line: "entry_new+0x1c (entry.c:123)".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOL_TEXT 160

/*
 * symbolize: write text[i] for each of n return addresses. To describe an instruction itself,
 * such as that of a fault, pass its address + 1. NULL, which ends a longer stack, is "...".
 * Async-signal-safe; errno keeps its value.
 */
void symbolize(unsigned n, const void *const *frames, char (*text)[SYMBOL_TEXT]);

/*
 * symbol_locate: find the file that contains a return address, and the offset in the form for
 * slab-symbolize. false: the address is in no file, or the path does not fit. Async-signal-safe;
 * errno keeps its value.
 */
bool symbol_locate(const void *frame, char *path, size_t size, uint64_t *ret_offset);
