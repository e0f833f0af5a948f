/* SPDX-License-Identifier: MIT */
/* The periodic work of a process without the control thread. */
#pragma once

/*
 * maintain_in_slow_paths: from now on slow paths do the work that is due (maintenance_poll()):
 * decay passes and the ticks of sampling, but not memory pressure, which would open files. For a
 * process whose malloc() is libslab and that has no control thread, and for one whose thread cannot
 * start; the thread, if it starts later, replaces this.
 */
void maintain_in_slow_paths(void);
