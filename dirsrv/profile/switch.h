/* SPDX-License-Identifier: MIT */
/* What is recorded at present. Pblock functions and recorders read it; record.c changes it under
 * its lock. */
#ifndef PBLOCK_SWITCH_H
#define PBLOCK_SWITCH_H

#include <stdint.h>

#define RECORD_LIVES 1u
#define RECORD_CALLS 2u

#pragma GCC visibility push(hidden)

/* The recorders that are on, as RECORD_… bits; 0: none. Only switch.c writes it. */
extern uint32_t pblock_recording;

/* SLAB_PBLOCK_NUMBERS, or 0 while something is recorded. An access has to check that its number is
 * in range. It compares the number with this variable, and so need not read pblock_recording. Only
 * switch.c writes it. */
extern uint32_t pblock_quick_numbers;

#pragma GCC visibility pop

/* Switch a recorder on or off, by its bit. */
void recording_begin(uint32_t bit);
void recording_end(uint32_t bit);

#endif /* PBLOCK_SWITCH_H */
