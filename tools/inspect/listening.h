/* SPDX-License-Identifier: MIT */
/* The control socket of a process that sees other files than this one, as the kernel knows it. */
#pragma once

#include "posix.h"

/* listening_path: where the process listens, "/proc/PID/root/run/slab/7.sock" for peer_connect(). false: it
 * does not listen on a socket with its number, or this user may not know. */
bool listening_path(pid_t pid, char path[PATH_MAX]);
