/* SPDX-License-Identifier: MIT */
/* Writing a file under a temporary name, and renaming it when it is complete (output.h). */
#include "output.h"
#include "fail.h"

static bool write_all(int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			text += n;
			size -= (size_t)n;
		}
	}
	return true;
}

/* Write to a pipe, a terminal or a device, which must not be replaced by a file. */
static bool write_special(const char *path, const char *text, size_t size)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write_all(fd, text, size);

	if (!done)
		fail("%s cannot be written: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return done;
}

/* The mode that open() would have given the new file. */
static mode_t new_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

static bool write_beside(const char *path, mode_t mode, const char *text, size_t size)
{
	char beside[PATH_MAX];
	bool done;
	int fd;

	if (snprintf(beside, sizeof(beside), "%s.XXXXXX", path) >= (int)sizeof(beside)) {
		errno = ENAMETOOLONG;
		return false;
	}
	fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0)
		return false;
	done = fchmod(fd, mode) == 0 && write_all(fd, text, size);
	/* Delayed write errors, of a full NFS server for instance, come with close(). */
	done = close(fd) == 0 && done && rename(beside, path) == 0;
	if (!done) {
		int error = errno;

		unlink(beside);
		errno = error;
	}
	return done;
}

bool output_write(const char *path, const char *text, size_t size)
{
	char target[PATH_MAX];
	struct stat status;
	mode_t mode;

	if (strcmp(path, "-") == 0)
		return fwrite(text, 1, size, stdout) == size;
	if (stat(path, &status) != 0) {
		snprintf(target, sizeof(target), "%s", path);
		mode = new_mode();
	} else if (!S_ISREG(status.st_mode)) {
		return write_special(path, text, size);
	} else {
		/* The target of a symbolic link is replaced, not the link. */
		if (!realpath(path, target))
			snprintf(target, sizeof(target), "%s", path);
		mode = status.st_mode & 0777;
	}
	if (write_beside(target, mode, text, size))
		return true;
	fail("%s cannot be written: %s", path, strerror(errno));
	return false;
}
