/* SPDX-License-Identifier: MIT */
/*
 * Threads that stay: a server's pool does not go away when there is nothing to do.
 */
#pragma once

/* team_begin: start threads 0 to n - 1, which wait. */
void team_begin(unsigned n);
/* team_start: all of them run `work`. team_wait: until all are done, and sleep again. */
void team_start(void (*work)(unsigned self));
void team_wait(void);
