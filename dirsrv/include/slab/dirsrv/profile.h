/* SPDX-License-Identifier: MIT */
/*
 * Recording a process's calls of pblock functions as a trace, with one call per line.
 * pblock-profile(1) shows from traces how often each parameter is read and set, and which
 * parameters are used together in one pblock; pblock-replay(1) repeats the calls.
 *
 * SLAB_PBLOCK_TRACE=FILE in the environment records from the start of the process to its end; the
 * functions below record a part of it. The file appears only when it is complete; a relative name
 * is relative to the working directory in which recording starts.
 *
 * A trace has the first million calls of all threads in their order, in 24 MB of memory, and a
 * comment with the number of later ones. Pblocks have numbers, from 1, which are reused. Pblocks
 * that existed before are not in it; its last lines destroy those that exist when recording stops.
 *
 * A forked child records its own calls, to FILE.PID. An executed program inherits the
 * environment: to record both, give it another FILE, otherwise the last one to end replaces
 * the file of the other.
 */
#ifndef SLAB_DIRSRV_PROFILE_H
#define SLAB_DIRSRV_PROFILE_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Upper bound of parameter numbers in traces. */
#define SLAB_PBLOCK_NUMBERS 2048

/*
 * slab_pblock_trace_start: start recording, and write `file` when recording stops, at the latest
 * when the process ends.
 *
 * Returns 0, or
 *   -EINVAL        file is NULL or empty
 *   -ENAMETOOLONG  the name is too long
 *   -EBUSY         recording was started already
 *   -ENOMEM        no memory
 * or an error of getcwd(3), for a relative name.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_pblock_trace_start(const char *file);

/*
 * slab_pblock_trace_stop: stop recording and write the file. The recorded calls are discarded,
 * also if writing fails.
 *
 * Returns 0, or -EINVAL if nothing is recorded, otherwise the error of writing the file; an older
 * file then stays unchanged.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_pblock_trace_stop(void);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DIRSRV_PROFILE_H */
