/* SPDX-License-Identifier: MIT */
/* The protocol of sd_notify(3): one datagram. */
#include "notify.h"

#include "base/log.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = path ? strlen(path) : 0;
	socklen_t size;
	int fd;

	if (length < 2 || length >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@')
		address.sun_path[0] = '\0'; /* an abstract socket */
	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address, size) < 0)
		log_warning("the service manager cannot be told %s: %s", state, strerror(errno));
	if (fd >= 0)
		close(fd);
}
