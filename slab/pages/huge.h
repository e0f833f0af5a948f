/* SPDX-License-Identifier: MIT */
/* Huge pages (SLAB_HUGE). */
#pragma once

#include <stdbool.h>

#define HUGE_SHIFT 21
#define HUGE_PAGE (UINT64_C(1) << HUGE_SHIFT)
/* With SLAB_HUGE=auto, heaps with fewer bytes of slabs use small pages. */
#define HUGE_LEAST (UINT64_C(64) << 20)
#define HUGE_GROWTH (HUGE_PAGE / 2)
/* SLAB_HUGE=auto stops if a huge page takes longer: then small pages are faster. */
#define HUGE_SLOW_US 2000u

/* Read the system's setting once and for all, before the process has other threads. Otherwise each
 * question reads it anew. */
void huge_learn(void);
/* Does the system use huge pages always, without being asked? */
bool huge_is_system_always(void);
/* Is fresh memory to be populated as a huge page? With SLAB_HUGE=auto, only if slabs have become
 * HUGE_GROWTH larger since the last one: a process that does not grow would have most of each huge
 * page as free slabs, return them by decay, and ask for the next one. */
bool huge_is_wanted(void);
/* Populate a huge page that holds no memory yet. false: it still holds none. */
bool huge_populate(char *start);
/* A decay pass begins: a process that has shrunk since may use huge pages when it grows again. */
void huge_review(void);

#ifdef SLAB_TESTING
/* What the system's setting says to this process; NULL: what the file says. */
extern const char *huge_system_setting;
/* Microseconds that each huge page seems to take; 0: its own time. */
extern unsigned huge_seems_to_take;
/* As if nothing had been asked or tried yet. */
void huge_forget(void);
#endif
