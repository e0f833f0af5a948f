/* SPDX-License-Identifier: MIT */
/* Connecting to a control socket, and finding out which process listens on it (peer.h). */
#include "peer.h"
#include "proc.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

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

int peer_connect(const char *path, int seconds)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, error;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path));
	fd = open_socket(seconds);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
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
	if (peer.pid == 0)
		return peer.uid == 0 || peer.uid == geteuid() ? named : 0;
	if (peer.pid != named && proc_inner_pid(peer.pid) != named)
		return 0;
	return is_user_of(peer.uid, peer.pid) ? peer.pid : 0;
}
