/* SPDX-License-Identifier: MIT */
/*
 * track_fill() in a shared library of its own, as in libslab.so: the tests' own
 * archive is part of the program, where libslab's frames cannot be distinguished.
 */
#pragma once

#include <slab/debug.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A track of a call with this caller, described. */
__attribute__((visibility("default"))) void track_apart(const void *caller, struct slab_track *to);
/* The same of one that is a function of this library. */
__attribute__((visibility("default"))) void track_apart_within(struct slab_track *to);

#ifdef __cplusplus
}
#endif
