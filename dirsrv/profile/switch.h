/* SPDX-License-Identifier: MIT */
/* What is recorded: read by pblocks and recorders, switched by record.c under its lock. */
#ifndef PBLOCK_SWITCH_H
#define PBLOCK_SWITCH_H

#include <stdint.h>

#define RECORD_LIVES 1u
#define RECORD_CALLS 2u

#pragma GCC visibility push(hidden)

/* What is recorded, 0: nothing. Loaded relaxed; switch.c alone writes it. */
extern uint32_t pblock_recording;

/* Accesses to parameters with smaller numbers need not read pblock_recording:
 * SLAB_PBLOCK_NUMBERS, or 0 while something is recorded. An access has to check its number
 * anyway, and compares it with this. Loaded and written like pblock_recording. */
extern uint32_t pblock_quick_numbers;

#pragma GCC visibility pop

/* One of the recorders, by its bit. */
void recording_begin(uint32_t bit);
void recording_end(uint32_t bit);

#endif /* PBLOCK_SWITCH_H */
