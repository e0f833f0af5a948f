/* SPDX-License-Identifier: MIT */
/*
 * The hook by which pblocks report their use (record.c has the theory).
 *
 * A pblock's function that finds pblock_recording set calls the one below that fits.
 * All of them do nothing when recording has ended meanwhile, never fail, and leave
 * errno alone.
 *
 *	slapi_pblock_new                       pblock_record_new()
 *	slapi_pblock_clone                     pblock_record_clone(), when it has succeeded
 *	slapi_pblock_init                      pblock_record_init()
 *	slapi_pblock_get, _set                 pblock_record_access(), of known parameters
 *	slapi_pblock_destroy                   pblock_record_end(), before the memory goes
 */
#ifndef PBLOCK_RECORD_H
#define PBLOCK_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "switch.h"

struct slapi_pblock;

void pblock_record_new(const struct slapi_pblock *pb);
void pblock_record_clone(const struct slapi_pblock *pb, const struct slapi_pblock *clone);
void pblock_record_init(const struct slapi_pblock *pb);
void pblock_record_access(const struct slapi_pblock *pb, int parameter, bool set);
void pblock_record_end(const struct slapi_pblock *pb);

#endif /* PBLOCK_RECORD_H */
