/* SPDX-License-Identifier: MIT */
#pragma once

#include <errno.h>

/* with_errno: the result of a public function, 0 or -errno; sets errno to match an error. On
 * success errno keeps its value. */
static inline int with_errno(int error)
{
	if (error)
		errno = -error;
	return error;
}
