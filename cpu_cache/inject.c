/* SPDX-License-Identifier: MIT */
/* What injection points look at. Test builds alone have this file. */
#include "inject.h"

unsigned cpu_inject_loops[CPU_INJECT_POINTS];
void (*cpu_inject_hook)(int point);
