/* SPDX-License-Identifier: MIT */
/* System calls, because open(), read() and close() are cancellation points, and a program's own
 * open() may allocate. */
#include "sys_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

size_t sys_file_read(const char *path, char *text, size_t size)
{
	const int saved = errno;
	const long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const long n = fd < 0 ? 0 : syscall(SYS_read, fd, text, size - 1);

	if (fd >= 0)
		syscall(SYS_close, fd);
	errno = saved;
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}
