/* SPDX-License-Identifier: MIT */
/*
 * The hook by which pblocks tell what is done with them (record.c has the theory).
 *
 * A pblock's function that finds pblock_recording set calls the one below that fits.
 * All of them do nothing when recording has ended meanwhile, never fail, and leave
 * errno alone.
 *
 *	slapi_pblock_new, clone's new pblock   pblock_record_new()
 *	slapi_pblock_init                      pblock_record_end(), then pblock_record_new()
 *	slapi_pblock_get, _set                 pblock_record_access(), of known parameters
 *	slapi_pblock_destroy                   pblock_record_end(), before the memory goes
 */
#ifndef PBLOCK_RECORD_H
#define PBLOCK_RECORD_H

#include <stdbool.h>
#include <stdint.h>

struct slapi_pblock;

extern uint32_t pblock_recording; /* 0: off. Loaded relaxed; record.c alone writes it */

void pblock_record_new(const struct slapi_pblock *pb);
void pblock_record_access(const struct slapi_pblock *pb, int parameter, bool set);
void pblock_record_end(const struct slapi_pblock *pb);

#endif /* PBLOCK_RECORD_H */
