/* SPDX-License-Identifier: MIT */
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
#ifndef PBLOCK_LAYOUTS_H
#define PBLOCK_LAYOUTS_H

#include "study.h"

enum layout { LAYOUT_FLAT, LAYOUT_PROPOSED, LAYOUT_OURS, LAYOUTS };

/* layout_name: the layout's name, one word. */
const char *layout_name(enum layout layout);

/* layout_bytes: the mean bytes per pblock. */
double layout_bytes(const struct study *study, enum layout layout);

#endif /* PBLOCK_LAYOUTS_H */
