/* SPDX-License-Identifier: MIT */
/* An open() that allocates, as fopen() and opendir() do: libslab reads files while it initializes
 * itself. Preloaded beside libslab_malloc.so. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode = 0;

	if (flags & (O_CREAT | O_TMPFILE)) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	free(malloc(100));
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
