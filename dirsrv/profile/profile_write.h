/* SPDX-License-Identifier: MIT */
/* Writing the profile of a recording. */
#ifndef PBLOCK_PROFILE_WRITE_H
#define PBLOCK_PROFILE_WRITE_H

#include "lives.h"

/*
 * profile_write: write the kinds that lives_each() visits as JSON to this file. The caller holds
 * the locks of lives_lock(). The file appears when it is complete. Returns 0 or -errno.
 */
int profile_write(const char *file, const struct lives_counts *counts);

#endif /* PBLOCK_PROFILE_WRITE_H */
