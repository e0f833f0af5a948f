/* SPDX-License-Identifier: MIT */
/*
 * The directory of control sockets, RUNTIME_DIR/slab, where RUNTIME_DIR is
 * $SLAB_RUNTIME_DIR, else $XDG_RUNTIME_DIR when it is the user's own, else /run
 * for root, else /tmp/slab-UID.
 */
#ifndef SLAB_CONTROL_RUNTIME_DIR_H
#define SLAB_CONTROL_RUNTIME_DIR_H

#include <stddef.h>

/*
 * slab_runtime_dir_prepare: ensure that the directory exists and is safe, remove the sockets
 * of dead processes, and store the path of this process's socket in `path`. Returns 0 or
 * -errno: EPERM: the directory belongs to another user, or another user may write to it.
 */
int slab_runtime_dir_prepare(char *path, size_t size);

#endif /* SLAB_CONTROL_RUNTIME_DIR_H */
