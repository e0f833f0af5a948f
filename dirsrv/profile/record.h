/* SPDX-License-Identifier: MIT */
/*
 * The functions that pblock functions call while pblock_recording is set; record.c describes
 * recording. They do nothing if recording has ended in the meantime, never fail, and keep errno.
 *
 *	slapi_pblock_new                       pblock_record_new()
 *	slapi_pblock_clone                     pblock_record_clone(), after success
 *	slapi_pblock_init                      pblock_record_init()
 *	slapi_pblock_get, _set                 pblock_record_access(), for known parameters
 *	slapi_pblock_destroy                   pblock_record_end(), before the memory is freed
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
