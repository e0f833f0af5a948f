/* SPDX-License-Identifier: MIT */
/*
 * From a file and a return address in it to function, source file and line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for every text that libslab prints. */
#define SYMBOLIZER_TEXT 128

struct symbolizer;

/* symbolizer_open: NULL when there is no memory. One thread at a time. */
struct symbolizer *symbolizer_open(void);
void symbolizer_close(struct symbolizer *symbolizer);

/* A function at an address: one that was called, or one that was inlined in the next frame. */
struct symbol_frame {
	char *function;
	const char *file; /* NULL: unknown */
	int line;
	bool inlined;
	uint64_t offset; /* from the function's start; 0 if it is inlined */
};

/*
 * What was called at a return address. A function that was left by a jump has no return address;
 * with this and the calls in DWARF it becomes a frame, too.
 */
enum symbol_callee {
	CALLEE_UNKNOWN,
	CALLEE_LIBSLAB,
	CALLEE_LAST, /* the function at the address that was looked up before */
};

/*
 * symbolizer_lookup: the functions at a return address, the innermost first. Inlined functions with
 * the attribute `artificial`, as the typed functions of <slab/slab.h> have it, and those of
 * <slab/slab.hpp> are left out: the line of the next frame is that of their call. Of several
 * functions that were left by jumps, the outermost is found.
 *
 * @path    an executable or shared library; separate debug information is found
 *          as debuggers do.
 * @offset  of a return address, relative to the load address of the file. The function looks
 *          up the call before it.
 *
 * Returns *ret_count frames, which are valid until the next call; 0: nothing is known. File names
 * are valid until symbolizer_close().
 */
const struct symbol_frame *symbolizer_lookup(struct symbolizer *symbolizer, const char *path,
					     uint64_t offset, enum symbol_callee callee,
					     size_t *ret_count);

/* symbol_frame_text: "entry_new+0x1c (entry.c:123)", or "entry_fill (entry.c:98)" if it is inlined.
 * A long name is cut so that the place fits. Returns text. */
char *symbol_frame_text(const struct symbol_frame *frame, char *text, size_t size);
