/* SPDX-License-Identifier: MIT */
/*
 * What a process does with its pblocks: how often each parameter is read and set, and
 * which parameters are used together in one pblock. pblock-profile(1) shows it.
 *
 * SLAB_PBLOCK_PROFILE=FILE in the environment records from the start of the process to
 * its end; the functions below record a part of it. Either way the file is JSON, as
 * docs/schema/pblock.schema.json describes, and is complete or not there.
 *
 * Recording costs some 50 nanoseconds per access, and no lock that all threads share.
 * It needs at most 64 MiB; what has no room in them is counted as dropped. A forked
 * child records what itself does, into FILE.PID.
 */
#ifndef SLAB_DIRSRV_PROFILE_H
#define SLAB_DIRSRV_PROFILE_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DIRSRV_PROFILE_H */
