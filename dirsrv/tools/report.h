/* SPDX-License-Identifier: MIT */
/* The report of a study as text, and the picture of it. Each function returns the exit status. */
#ifndef PBLOCK_REPORT_H
#define PBLOCK_REPORT_H

#include "study.h"

/* --- layouts -------------------------------------------------------------------------------- */

/*
 * The bytes that pblocks need in different layouts, computed from the parameters that were set. A
 * part exists from the first set of one of its parameters until the pblock ends.
 *
 * flat      the struct of 712 bytes, and the separate structs of operation, plug-in and
 *           connection, which count as the bytes of their parameters
 * proposed  the clumps of study.h, with a pointer to each
 * libslab   the layout of this library: a top, a part for operations, and a part with pointers to
 *           all other parts
 */

enum layout { LAYOUT_FLAT, LAYOUT_PROPOSED, LAYOUT_OURS, LAYOUTS };

/* layout_name: the layout's name, one word. */
const char *layout_name(enum layout layout);

/* layout_bytes: the mean bytes per pblock. */
double layout_bytes(const struct study *study, enum layout layout);

/* --- reports -------------------------------------------------------------------------------- */

int report_text(const struct study *study);
int report_svg(const struct study *study, const char *path);

#endif /* PBLOCK_REPORT_H */
