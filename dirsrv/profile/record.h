/* SPDX-License-Identifier: MIT */
/*
 * What pblock functions do while calls are recorded:
 *
 *	slapi_pblock_new        pblock_record(CALL_NEW, pb, 0)
 *	slapi_pblock_clone      pblock_record(CALL_CLONE, pb, the clone), after success
 *	slapi_pblock_init       pblock_record(CALL_INIT, pb, 0)
 *	slapi_pblock_get, _set  pblock_record(CALL_GET or CALL_SET, pb, the number), if it is known
 *	slapi_pblock_destroy    pblock_record(CALL_DESTROY, pb, 0), before the memory is freed
 */
#pragma once

#include <stdint.h>

struct slapi_pblock;

enum call_verb { CALL_NEW, CALL_INIT, CALL_SET, CALL_GET, CALL_CLONE, CALL_DESTROY };

#pragma GCC visibility push(hidden)

/* Is anything recorded? Only calls.c writes it. */
extern uint32_t pblock_recording;

/* SLAB_PBLOCK_NUMBERS, or 0 while calls are recorded. An access has to check that its number is in
 * range. It compares the number with this variable, and so need not read pblock_recording. Only
 * calls.c writes it. */
extern uint32_t pblock_quick_numbers;

#pragma GCC visibility pop

/* pblock_record: record a call. Does nothing if recording has ended in the meantime, never fails,
 * and keeps errno. */
void pblock_record(enum call_verb verb, const struct slapi_pblock *pb, uintptr_t detail);
