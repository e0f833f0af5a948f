/* SPDX-License-Identifier: MIT */
/*
 * Counters of locked instructions: those with the prefix `lock`, and exchanges with memory.
 *
 * The calling thread runs instruction by instruction between begin and end (the trap flag), and a
 * signal handler looks at each one. So the count is exact, for any allocator, and includes the C
 * library's mutexes. It takes some microseconds for each instruction.
 */
#ifndef SCALE_LOCKED_H
#define SCALE_LOCKED_H

#include <stdint.h>
#include <stdio.h>

void locked_init(void);
void locked_begin(void);
void locked_end(void);
/* Counted so far, on all threads: locked instructions, and all instructions. */
extern uint64_t locked_count, locked_instructions;
/* Print a line for each locked instruction: "at LIBRARY OFFSET times". */
void locked_print(FILE *out);

#endif /* SCALE_LOCKED_H */
