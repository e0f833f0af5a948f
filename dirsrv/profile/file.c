/* SPDX-License-Identifier: MIT */
/* Files of a recording: written under a temporary name, and renamed when complete (file.h). */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int file_name(char ret[PATH_MAX], const char *name)
{
	size_t len = 0;

	if (*name != '/') {
		if (!getcwd(ret, PATH_MAX))
			return errno == ERANGE ? -ENAMETOOLONG : -errno;
		len = strlen(ret);
		if (len + 1 == PATH_MAX)
			return -ENAMETOOLONG;
		ret[len++] = '/';
	}
	if (strlen(name) >= PATH_MAX - len)
		return -ENAMETOOLONG;
	memcpy(ret + len, name, strlen(name) + 1);
	return 0;
}

static int finish(FILE *out, int error)
{
	if (!error && fflush(out) != 0)
		error = -errno;
	if (!error && ferror(out))
		error = -EIO;
	if (fclose(out) != 0 && !error)
		error = -errno;
	return error;
}

static int write_to(int fd, int (*print)(FILE *out, const void *arg), const void *arg)
{
	FILE *out = fdopen(fd, "w");

	if (!out) {
		close(fd);
		return -ENOMEM;
	}
	return finish(out, print(out, arg));
}

/* The temporary name contains this process's pid, so an existing file is a leftover. */
int file_write(const char *name, int (*print)(FILE *out, const void *arg), const void *arg)
{
	char beside[PATH_MAX + 16];
	int fd, error;

	snprintf(beside, sizeof(beside), "%s.%d.tmp", name, (int)getpid());
	unlink(beside);
	fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	error = write_to(fd, print, arg);
	if (!error && rename(beside, name) != 0)
		error = -errno;
	if (error)
		unlink(beside);
	return error;
}
