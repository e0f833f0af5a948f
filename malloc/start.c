/* SPDX-License-Identifier: MIT */
/*
 * The start. Linked with -z initfirst, this library's constructor runs before all others, so that
 * no library registers a fork handler before libslab does. The C library has not stored the
 * environment yet then.
 */
#include <slab/malloc.h>

#include "vfork.h"

static __attribute__((constructor)) void start(void)
{
	vfork_init();
	slab_replace_malloc();
}
