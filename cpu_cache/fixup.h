/* SPDX-License-Identifier: MIT */
/*
 * Loads that may fault: from a pointer of the user's to the slab it should lie
 * in. A machine with fix-ups lists these instructions in a table with the place
 * to go on at, so that a handler of SIGSEGV can send the thread there, with a
 * slab of no cache. The loads themselves cost what plain loads cost.
 */
#ifndef CPU_CACHE_FIXUP_H
#define CPU_CACHE_FIXUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu_cache.h"

#ifdef __x86_64__
#include "arch/x86_64/fixup.h"
#else
#include "arch/generic/fixup.h"
#endif

#endif /* CPU_CACHE_FIXUP_H */
