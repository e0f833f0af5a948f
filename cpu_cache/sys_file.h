/* SPDX-License-Identifier: MIT */
/* Short files of the kernel. */
#ifndef CPU_CACHE_SYS_FILE_H
#define CPU_CACHE_SYS_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Read a file into text[size], as a string. Returns the number of bytes; 0: there is no such file,
 * or it is empty. Any slow path may call this, so these are system calls: open(), read() and
 * close() are cancellation points, and a program's own open() may allocate. errno keeps its
 * value. */
static inline size_t sys_file_read(const char *path, char *text, size_t size)
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

#endif /* CPU_CACHE_SYS_FILE_H */
