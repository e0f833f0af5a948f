/* SPDX-License-Identifier: MIT */
/*
 * Bytes that pblocks need in different layouts, by what was set of them: a part is there
 * from the first set of one of its parameters to the end.
 *
 * flat      the struct of 712 bytes, and the structs beside it: operation, plug-in and
 *           connection, which are counted as the bytes of their parameters
 * today     389-ds's own split, with the same structs beside it
 * proposed  the clumps of study.h
 * ideal     a struct of exactly what is set, and the pointer to it
 * libslab   this library's: a top, a part for operations, others behind one of pointers
 */
#ifndef PBLOCK_LAYOUTS_H
#define PBLOCK_LAYOUTS_H

#include "study.h"

#define POINTER_SIZE 8
#define TOP_MAX 80 /* bytes of a top: ten pointers */

enum layout { LAYOUT_FLAT, LAYOUT_TODAY, LAYOUT_PROPOSED, LAYOUT_IDEAL, LAYOUT_OURS, LAYOUTS };

/* layout_name: a word. */
const char *layout_name(enum layout layout);

/* kind_bytes: of one pblock. */
size_t kind_bytes(const struct study *study, const struct kind_of_life *kind, enum layout layout);

/* workload_bytes: per pblock, on average over those whose whole life was seen. */
double workload_bytes(const struct study *study, const struct workload *workload,
		      enum layout layout);

#endif /* PBLOCK_LAYOUTS_H */
