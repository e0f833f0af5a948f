/* SPDX-License-Identifier: MIT */
/*
 * The views: each prints the caches of `model`, which holds those that the
 * options select and no others.
 */
#ifndef SLABINFO_VIEWS_H
#define SLABINFO_VIEWS_H

#include "attach.h"
#include "model.h"

void view_table(const struct options *options, const struct model *model);
void view_totals(const struct model *model);
void view_report(const struct model *model);
void view_json(const struct options *options, const struct model *model);

/* These ask the process for more; they and the actions return the exit status. */
int view_tracking(const struct options *options, const struct process *process,
		  const struct model *model);
int view_since_mark(const struct options *options, const struct process *process,
		    const struct model *model);

int action_shrink(const struct process *process, const struct model *model);
int action_validate(const struct process *process, const struct model *model);
int action_debug(const struct options *options, const struct process *process,
		 const struct model *model);
int action_sample(const struct options *options, const struct process *process,
		  const struct model *model);
int action_fail(const struct options *options, const struct process *process);
int action_mark(const struct process *process, const struct model *model);

/* A size as the tables show it: one decimal, decimal units, "16.2M". */
#define SIZE_TEXT 24
const char *size_text(char text[SIZE_TEXT], uint64_t bytes);

#endif /* SLABINFO_VIEWS_H */
