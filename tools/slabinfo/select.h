/* SPDX-License-Identifier: MIT */
/* Which caches a run is about, and in which order. */
#ifndef SLABINFO_SELECT_H
#define SLABINFO_SELECT_H

#include "args.h"
#include "model.h"

/*
 * select_take: ask the process for its statistics and keep the caches that the
 * pattern means. False after telling with fail(); else the caller frees *model.
 */
bool select_take(const struct options *options, struct process *process, struct model *model);

/* select_shown: leave out what the table does not show (empty ones, reclaimable
 * ones), as the options say. */
void select_shown(const struct options *options, struct model *model);

/* select_sort: the order that the options ask for. */
void select_sort(const struct options *options, struct model *model);

#endif /* SLABINFO_SELECT_H */
