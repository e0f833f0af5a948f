/* SPDX-License-Identifier: MIT */
/*
 * What a process does with its pblocks, recorded in two ways, each by itself or both:
 *	profile   how often each parameter is read and set, and which parameters are used
 *	          together in one pblock, as JSON, which pblock-profile(1) shows and
 *	          docs/schema/pblock.schema.json describes
 *	trace     the calls themselves, a line for each, which pblock-replay(1) repeats
 *
 * SLAB_PBLOCK_PROFILE=FILE and SLAB_PBLOCK_TRACE=FILE in the environment record from the
 * start of the process to its end; the functions below record a part of it. A file is
 * complete or not there; a relative name goes by the folder in which recording starts.
 *
 * A profile costs some 50 nanoseconds per access, and no lock that all threads share. It
 * needs at most 64 MiB; what has no room in them is counted as dropped. A trace has the
 * first million calls, in 24 MB, and a comment with how many came later; all threads
 * share the counter that puts calls in order. Pblocks that began before are not in it.
 *
 * A forked child records what itself does, into FILE.PID. A program that is executed
 * has the environment, too: when both shall be recorded, give it another FILE, else the
 * one that ends last replaces the file of the other.
 */
#ifndef SLAB_DIRSRV_PROFILE_H
#define SLAB_DIRSRV_PROFILE_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers of parameters in profiles and traces are below. */
#define SLAB_PBLOCK_NUMBERS 2048

/*
 * slab_pblock_profile_start: record from now on, and write `file` when recording stops,
 * at the latest when the process ends. Pblocks that exist already are told apart: they
 * count, but not among those whose whole life was seen.
 *
 * Returns 0, or -errno (errno is set too):
 *   EINVAL        no name
 *   ENAMETOOLONG  a longer name than files can have
 *   EBUSY         recording goes on already
 *   ENOMEM        no memory
 *   what getcwd(3) fails with, for a relative name
 * Any thread may call it. Not async-signal-safe.
 */
SLAB_API int slab_pblock_profile_start(const char *file);

/*
 * slab_pblock_profile_stop: end recording and write the file; what was recorded is
 * forgotten, whether or not that succeeds.
 *
 * Returns 0, or -errno (errno is set too): EINVAL when nothing is recorded, otherwise
 * why the file could not be written; an older one is then left as it was.
 * Any thread may call it. Not async-signal-safe.
 */
SLAB_API int slab_pblock_profile_stop(void);

/*
 * slab_pblock_trace_start, slab_pblock_trace_stop: the same for a trace, with the same
 * errors. In it pblocks have numbers, from 1, which are used again; those that are still
 * alive when recording stops are destroyed in its last lines.
 */
SLAB_API int slab_pblock_trace_start(const char *file);
SLAB_API int slab_pblock_trace_stop(void);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DIRSRV_PROFILE_H */
