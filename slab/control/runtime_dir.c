/* SPDX-License-Identifier: MIT */
/*
 * The directory of control sockets: finding it, creating it, and removing stale sockets.
 *
 * The directory may be in /tmp, so libslab does not trust it: it must be a directory and not a
 * link, must belong to this user, and must not be writable by others. Others must not even search
 * it: in a user namespace all users that it does not map have one number. getdents64() reads its
 * entries, since opendir() calls malloc.
 */
#define _GNU_SOURCE
#include "control/runtime_dir.h"
#include "base/options.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Open the directory, and create it if it does not exist. Returns a descriptor or -errno. */
static int open_own_dir(const char *path)
{
	struct stat st;
	int fd;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) ||
	    ((st.st_mode & (S_IRWXG | S_IRWXO)) && fchmod(fd, 0700) != 0)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

static bool is_own_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Store RUNTIME_DIR in `path`. Only the directory in /tmp is created if it does not exist. */
static int find_runtime_dir(char *path, size_t size)
{
	const char *given = slab_options()->runtime_dir;
	const char *session = secure_getenv("XDG_RUNTIME_DIR");
	int fd;

	if (*given) {
		snprintf(path, size, "%s", given);
	} else if (session && strlen(session) <= SLAB_RUNTIME_DIR_MAX && is_own_dir(session)) {
		snprintf(path, size, "%s", session);
	} else if (geteuid() == 0) {
		snprintf(path, size, "/run");
	} else {
		snprintf(path, size, "/tmp/slab-%u", (unsigned)geteuid());
		fd = open_own_dir(path);
		if (fd < 0)
			return fd;
		close(fd);
	}
	return 0;
}

/* true: no process listens on the socket. */
static bool refuses(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool refused;

	if (fd < 0)
		return false;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	refused = connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 &&
		  errno == ECONNREFUSED;
	close(fd);
	return refused;
}

/*
 * Remove a socket if its process is dead, or if it had the pid of this process. The socket must
 * also refuse connections: containers may share the directory but not the pids.
 */
static void remove_if_stale(const char *dir, const char *name)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char *end;
	long pid = strtol(name, &end, 10);

	/* No space, sign or zero before the number. */
	if (name[0] < '1' || pid > INT_MAX || strcmp(end, ".sock") != 0)
		return;
	if (pid != getpid() && (kill((pid_t)pid, 0) == 0 || errno != ESRCH))
		return;
	if ((size_t)snprintf(path, sizeof(path), "%s/%ld.sock", dir, pid) >= sizeof(path))
		return;
	if (refuses(path))
		unlink(path);
}

static void remove_stale(int fd, const char *dir)
{
	_Alignas(struct dirent64) char buffer[2048];
	ssize_t len;

	while ((len = getdents64(fd, (struct dirent64 *)buffer, sizeof(buffer))) > 0) {
		for (ssize_t at = 0; at < len;) {
			const struct dirent64 *entry = (const struct dirent64 *)(buffer + at);

			remove_if_stale(dir, entry->d_name);
			at += entry->d_reclen;
		}
	}
}

int slab_runtime_dir_prepare(char *path, size_t size)
{
	char runtime[SLAB_RUNTIME_DIR_MAX + 1];
	char dir[SLAB_RUNTIME_DIR_MAX + sizeof("/slab")];
	int error = find_runtime_dir(runtime, sizeof(runtime));
	int fd;

	snprintf(path, size, "%s", runtime);
	if (error)
		return error;
	snprintf(dir, sizeof(dir), "%s/slab", runtime);
	snprintf(path, size, "%s", dir);
	fd = open_own_dir(dir);
	if (fd < 0)
		return fd;
	remove_stale(fd, dir);
	close(fd);
	if ((size_t)snprintf(path, size, "%s/%d.sock", dir, getpid()) >= size)
		return -ENAMETOOLONG;
	return 0;
}
