/* SPDX-License-Identifier: MIT */
/* CPUs that the machine does not have: what a cache would hold on a larger one. */
#ifndef BASELINES_PRETEND_H
#define BASELINES_PRETEND_H

#include "baseline.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * baseline_pretend_cpu: from now on the calling thread is on this CPU, for the caches of this folder.
 *
 * Restartable sequences then read the CPU from memory of the library instead of the kernel's, which
 * aborts none of them. So the process must use the caches by one thread only, and needs
 * BASELINE_REAPER=off in its environment. The first call has the highest CPU, and is made before the
 * first cache. Aborts the process if the machine has no restartable sequences.
 */
BASELINE_API void baseline_pretend_cpu(int cpu);

#ifdef __cplusplus
}
#endif

#endif /* BASELINES_PRETEND_H */
