/* SPDX-License-Identifier: MIT */
/* Functions that some C libraries lack. */
#pragma once

#include <string.h>

#ifndef SLAB_HAVE_STRERRORDESC
/* musl's strerror() does not call malloc. glibc's before 2.32 does, for unknown numbers. */
static inline const char *strerrordesc_np(int error)
{
	return strerror(error);
}
#endif
