/* SPDX-License-Identifier: MIT */
/* Connecting to a control socket, and finding out which process listens on it (peer.h). */
#include "peer.h"
#include "proc.h"

#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

/* Close a descriptor, and leave errno as it is. */
static void close_kept(int fd)
{
	const int error = errno;

	close(fd);
	errno = error;
}

static int open_socket(int seconds)
{
	const struct timeval patience = {.tv_sec = seconds};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (seconds ? 0 : SOCK_NONBLOCK), 0);

	if (fd >= 0 && seconds) {
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	}
	return fd;
}

/* Open a socket by its path in the root of another process, "/proc/PID/root" and `below`, which may be a
 * container: no link in there leads out. */
static int open_in_root(const char *path, const char *below)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	char root[32];
	int dir, fd;

	snprintf(root, sizeof(root), "%.*s", (int)(below - path), path);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, dir, below, &how, sizeof(how));
	close_kept(dir);
	return fd;
}

static int connect_to(const char *path, int seconds)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path));
	fd = open_socket(seconds);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close_kept(fd);
	return -1;
}

/* Root of this machine is nobody in a user namespace, so it comes as the process's user. */
static int connect_as(pid_t pid, const char *path, int seconds)
{
	const uid_t own = geteuid();
	const long user = own == 0 && proc_differs(pid, "ns/user") ? proc_user(pid) : -1;
	int fd;

	if (user < 0)
		return connect_to(path, seconds);
	if (seteuid((uid_t)user) != 0)
		return -1;
	fd = connect_to(path, seconds);
	if (seteuid(own) != 0)
		abort(); /* it must not go on with other rights */
	return fd;
}

int peer_connect(const char *path, int seconds)
{
	int pid, length = 0, socket, fd;
	char link[32];

	if (sscanf(path, "/proc/%d/root%n", &pid, &length) != 1 || path[length] != '/')
		return connect_to(path, seconds);
	socket = open_in_root(path, path + length);
	if (socket < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", socket);
	fd = connect_as(pid, link, seconds);
	close_kept(socket);
	return fd;
}

/* Servers listen as root, and change their user afterwards. */
static bool is_user_of(uid_t user, pid_t pid)
{
	return user == 0 || (long)user == proc_user(pid);
}

pid_t peer_pid(int fd, pid_t named)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		return 0;
	if (peer.pid != named && proc_inner_pid(peer.pid) != named)
		return 0;
	return is_user_of(peer.uid, peer.pid) ? peer.pid : 0;
}

int peer_open(const char *path, pid_t pid, int seconds)
{
	int fd = peer_connect(path, seconds);

	if (fd < 0 || peer_pid(fd, pid) == pid)
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}
