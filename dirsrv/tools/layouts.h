/* SPDX-License-Identifier: MIT */
/*
 * The bytes that pblocks need in different layouts, computed from the parameters that were set. A
 * part exists from the first set of one of its parameters until the pblock ends.
 *
 * flat      the struct of 712 bytes, and the separate structs of operation, plug-in and
 *           connection, which count as the bytes of their parameters
 * today     the split of 389-ds, with the same separate structs
 * proposed  the clumps of study.h
 * ideal     a struct with exactly the parameters that are set, and a pointer to it
 * libslab   the layout of this library: a top, a part for operations, and a part with pointers to
 *           all other parts
 */
#ifndef PBLOCK_LAYOUTS_H
#define PBLOCK_LAYOUTS_H

#include "study.h"

#define POINTER_SIZE 8
#define TOP_MAX 80 /* bytes of a top: ten pointers */

enum layout { LAYOUT_FLAT, LAYOUT_TODAY, LAYOUT_PROPOSED, LAYOUT_IDEAL, LAYOUT_OURS, LAYOUTS };

/* layout_name: the layout's name, one word. */
const char *layout_name(enum layout layout);

/* kind_bytes: the bytes of one pblock of this kind. */
size_t kind_bytes(const struct study *study, const struct kind_of_life *kind, enum layout layout);

/* workload_bytes: the mean bytes per pblock, of the pblocks whose whole life was recorded. */
double workload_bytes(const struct study *study, const struct workload *workload,
		      enum layout layout);

#endif /* PBLOCK_LAYOUTS_H */
