/* SPDX-License-Identifier: MIT */
/* The report of a study as text, and the picture of it. Each function returns the exit status. */
#ifndef PBLOCK_REPORT_H
#define PBLOCK_REPORT_H

#include "study.h"

int report_text(const struct study *study);
int report_svg(const struct study *study, const char *path);

#endif /* PBLOCK_REPORT_H */
