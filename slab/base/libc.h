/* SPDX-License-Identifier: MIT */
/* Functions that some C libraries lack. */
#ifndef SLAB_BASE_LIBC_H
#define SLAB_BASE_LIBC_H

#include <string.h>

#ifndef SLAB_HAVE_STRERRORDESC
/* musl's strerror() does not call malloc. glibc's before 2.32 does, for unknown numbers. */
static inline const char *strerrordesc_np(int error)
{
	return strerror(error);
}
#endif

#endif /* SLAB_BASE_LIBC_H */
