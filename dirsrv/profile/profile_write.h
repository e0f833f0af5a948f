/* SPDX-License-Identifier: MIT */
#ifndef PBLOCK_PROFILE_WRITE_H
#define PBLOCK_PROFILE_WRITE_H

#include "lives.h"

/*
 * profile_write: what lives_each() visits, as JSON, under this name; lives_lock() is
 * held. The file appears when it is complete. Returns 0 or -errno.
 */
int profile_write(const char *file, const struct lives_counts *counts);

#endif /* PBLOCK_PROFILE_WRITE_H */
