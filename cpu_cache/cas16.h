/* SPDX-License-Identifier: MIT */
/* The double compare-and-exchange of the machine. Builds with the thread sanitizer have none,
 * because it does not see into assembly. */
#ifndef CPU_CACHE_CAS16_H
#define CPU_CACHE_CAS16_H

#include <stdbool.h>
#include <stdint.h>

#include "rseq.h"

#if defined(__x86_64__) && !defined(CPU_SANITIZED)
#include "arch/x86_64/cas16.h"
#elif defined(__aarch64__) && !defined(CPU_SANITIZED)
#include "arch/aarch64/cas16.h"
#else
#include "arch/generic/cas16.h"
#endif

#endif /* CPU_CACHE_CAS16_H */
