/* SPDX-License-Identifier: MIT */
/* An allocator that ends directory-malloc before main(). */
#include <unistd.h>

static void __attribute__((constructor)) fail(void)
{
	_exit(3);
}
