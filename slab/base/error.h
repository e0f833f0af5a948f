/* SPDX-License-Identifier: MIT */
#ifndef SLAB_ERROR_H
#define SLAB_ERROR_H

#include <errno.h>

/* with_errno: a public function's result, 0 or -errno, with errno set to match. On success
 * errno is untouched. */
static inline int with_errno(int error)
{
	if (error)
		errno = -error;
	return error;
}

#endif /* SLAB_ERROR_H */
