/* SPDX-License-Identifier: MIT */
/* The reports of a study: text, JSON and SVG. Each function returns the exit status. */
#ifndef PBLOCK_REPORT_H
#define PBLOCK_REPORT_H

#include "study.h"

int report_text(const struct study *study);
int report_json(const struct study *study);
int report_svg(const struct study *study, const char *path);

#define METHOD "average linkage over Jaccard distance of pblocks"

/* subject_name: "SLAPI_OPERATION"; "unknown": this library has no such parameter. */
const char *subject_name(const struct subject *subject);

#endif /* PBLOCK_REPORT_H */
