/* SPDX-License-Identifier: MIT */
/* generalizedTime (RFC 4517, 3.3.13): the normal form, and the present time. MT-safe. */
#ifndef LDAPD_SCHEMA_TIME_H
#define LDAPD_SCHEMA_TIME_H

#include <stdbool.h>
#include <stddef.h>

#include <slab/dirsrv/entry.h>

#include "base/memory.h"

/* time_normalize: append YYYYMMDDHHMMSS in UTC and the fraction of the second without zeros at its
 * end. False: this is no generalizedTime, or (out->failed) there is no memory. */
bool time_normalize(struct dirsrv_bytes value, struct buffer *out);

/* YYYYMMDDHHMMSSZ and a zero byte. */
#define TIME_TEXT_SIZE 16

/* time_now: the present time in UTC. */
void time_now(char out[TIME_TEXT_SIZE]);

#endif /* LDAPD_SCHEMA_TIME_H */
