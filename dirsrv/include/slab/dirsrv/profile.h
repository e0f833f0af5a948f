/* SPDX-License-Identifier: MIT */
/*
 * Recording a process's accesses to its pblocks, as a profile, a trace, or both:
 *	profile   how often each parameter is read and set, and which parameters are used
 *	          together in one pblock, as JSON, which pblock-profile(1) shows and
 *	          dirsrv/docs/schema/pblock.schema.json describes
 *	trace     the calls themselves, one per line, which pblock-replay(1) repeats
 *
 * SLAB_PBLOCK_PROFILE=FILE and SLAB_PBLOCK_TRACE=FILE in the environment record from the
 * start of the process to its end; the functions below record a part of it. A file appears
 * only when it is complete; a relative name is relative to the working directory in which
 * recording starts.
 *
 * A profile costs some 50 nanoseconds per access, and no lock that all threads share. It
 * needs at most 64 MiB and counts accesses beyond that as dropped. A trace has the first
 * million calls, in 24 MB, and a comment with the number of later ones; all threads share
 * the counter that orders the calls. Pblocks that existed before are not in it.
 *
 * A forked child records its own accesses, to FILE.PID. An executed program inherits the
 * environment: to record both, give it another FILE, otherwise the last one to end replaces
 * the file of the other.
 */
#ifndef SLAB_DIRSRV_PROFILE_H
#define SLAB_DIRSRV_PROFILE_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Upper bound of parameter numbers in profiles and traces. */
#define SLAB_PBLOCK_NUMBERS 2048

/*
 * slab_pblock_profile_start: start recording, and write `file` when recording stops, at the
 * latest when the process ends. Pblocks that exist already are counted separately from those
 * whose whole life was recorded.
 *
 * Returns 0, or -errno (errno is set too):
 *   EINVAL        file is NULL or empty
 *   ENAMETOOLONG  the name is too long
 *   EBUSY         recording was started already
 *   ENOMEM        no memory
 *   an error of getcwd(3), for a relative name
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe (<slab/slab.h>).
 */
SLAB_API int slab_pblock_profile_start(const char *file);

/*
 * slab_pblock_profile_stop: stop recording and write the file. The recorded data is
 * discarded, also if writing fails.
 *
 * Returns 0, or -errno (errno is set too): EINVAL if nothing is recorded, otherwise the
 * error of writing the file; an older file then stays unchanged.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_pblock_profile_stop(void);

/*
 * slab_pblock_trace_start, slab_pblock_trace_stop: the same for a trace, with the same
 * errors. In a trace pblocks have numbers, from 1, which are reused; its last lines destroy
 * the pblocks that exist when recording stops.
 */
SLAB_API int slab_pblock_trace_start(const char *file);
SLAB_API int slab_pblock_trace_stop(void);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DIRSRV_PROFILE_H */
