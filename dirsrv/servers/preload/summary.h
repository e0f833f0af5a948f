/* SPDX-License-Identifier: MIT */
/*
 * SLAB_389DS_SUMMARY: how many allocations each call site made, and which cache served them. They
 * are counted by atomic additions, which other threads feel: not for measurements of speed.
 */
#ifndef PRELOAD_SUMMARY_H
#define PRELOAD_SUMMARY_H

/* Count from now on if the variable is set, and write the file at exit. */
void summary_start(void);

#endif /* PRELOAD_SUMMARY_H */
