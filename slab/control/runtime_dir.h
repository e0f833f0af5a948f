/* SPDX-License-Identifier: MIT */
/*
 * The directory of control sockets, RUNTIME_DIR/slab. RUNTIME_DIR is $SLAB_RUNTIME_DIR if it is
 * set; otherwise $XDG_RUNTIME_DIR if it belongs to the user; otherwise /run for root, and
 * /tmp/slab-UID for other users.
 */
#pragma once

#include <stddef.h>

/*
 * slab_runtime_dir_prepare: ensure that the directory exists and is safe, remove the sockets
 * of dead processes, and store the path of this process's socket in `path`. Returns 0 or
 * -errno; -EPERM: the directory belongs to another user, or another user may write to it. After
 * an error `path` is that of the directory.
 */
int slab_runtime_dir_prepare(char *path, size_t size);
