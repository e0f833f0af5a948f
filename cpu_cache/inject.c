/* SPDX-License-Identifier: MIT */
/* The variables of injection points. Only test builds have this file. */
#include "inject.h"

unsigned cpu_inject_loops[CPU_INJECT_POINTS];
void (*cpu_inject_hook)(int point);
