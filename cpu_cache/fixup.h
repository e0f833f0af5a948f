/* SPDX-License-Identifier: MIT */
/*
 * Loads that may fault: they find the slab of a pointer that the application passed. A machine
 * with fix-ups has a table of these instructions, with an address at which to resume. The
 * SIGSEGV handler resumes the thread there with a slab of no cache. The loads cost as much as
 * plain loads.
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
