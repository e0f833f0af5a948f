/* SPDX-License-Identifier: MIT */
/*
 * From a file and a return address in it to function, source file and line.
 */
#ifndef SYMBOLIZER_H
#define SYMBOLIZER_H

#include <stddef.h>
#include <stdint.h>

/* Enough for every text that libslab prints. */
#define SYMBOLIZER_TEXT 128

struct symbolizer;

/* symbolizer_open: NULL when there is no memory. One thread at a time. */
struct symbolizer *symbolizer_open(void);
void symbolizer_close(struct symbolizer *symbolizer);

/*
 * symbolizer_lookup: "entry_new+0x1c (entry.c:123)", or for inlined code
 * "entry_fill in entry_new+0x1c (entry.c:98)".
 *
 * @path    an executable or shared library; separate debug information is found
 *          as debuggers do.
 * @offset  of a return address, relative to the load address of the file. The function looks
 *          up the call before it.
 *
 * Long names are truncated so that the place fits. Returns text, with the parts that are
 * known; "": none is.
 */
const char *symbolizer_lookup(struct symbolizer *symbolizer, const char *path, uint64_t offset,
			      char *text, size_t size);

#endif /* SYMBOLIZER_H */
