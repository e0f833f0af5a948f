/* SPDX-License-Identifier: MIT */
/*
 * The descriptors of the control server: the listening socket, the epoll and the timer are opened
 * and closed here. The socket's file is removed only by the process that created it.
 */
#define _GNU_SOURCE
#include "control/clients.h"
#include "control/runtime_dir.h"
#include "memory/pressure.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

void control_leave(void)
{
	control_forget_clients();
	descriptor_close(&control_server.listener);
	watch_drop(&control_server.watch, &control_server.timer);
	pressure_close(&control_server.watch);
	watch_close(&control_server.watch);
	control_server.muted = false;
	control_server.period = 0;
	control_server.pid = 0;
	control_server.error = 0;
}

static int watch_all(void)
{
	const struct watch *watch = &control_server.watch;

	if (watch_set(watch, EPOLL_CTL_ADD, &control_server.listener, EPOLLIN, TAG_LISTENER) != 0 ||
	    watch_set(watch, EPOLL_CTL_ADD, &control_server.timer, EPOLLIN, TAG_TIMER) != 0)
		return -errno;
	return 0;
}

static int open_watch(unsigned from)
{
	int timer, error = watch_open(&control_server.watch, from);

	if (error)
		return error;
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	error = descriptor_take(&control_server.timer, timer, DESCRIPTORS_FROM);
	if (!error)
		error = watch_all();
	if (error)
		descriptor_close(&control_server.timer); /* it may not be in the watch */
	return error;
}

static int open_listener(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, error = slab_runtime_dir_prepare(control_server.path, sizeof(control_server.path));

	if (error)
		return error;
	memcpy(address.sun_path, control_server.path, sizeof(control_server.path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	error = descriptor_take(&control_server.listener, fd, DESCRIPTORS_FROM);
	if (error)
		return error;
	fd = control_server.listener.fd;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		return -errno;
	if (lstat(control_server.path, &control_server.made) == 0)
		control_server.pid = getpid();
	if (listen(fd, MAX_CLIENTS) != 0)
		return -errno;
	return 0;
}

/* Remove the socket's file, if this process created it and no other process has replaced it. */
__attribute__((destructor)) static void unlink_socket(void)
{
	struct stat st;

	if (control_server.pid == getpid() && lstat(control_server.path, &st) == 0 &&
	    st.st_dev == control_server.made.st_dev && st.st_ino == control_server.made.st_ino)
		unlink(control_server.path);
}

void control_close(void)
{
	unlink_socket();
	control_drop_clients();
	control_leave();
}

int control_open(unsigned from)
{
	int error = open_listener();

	return error ? error : open_watch(from);
}

bool control_is_open(void)
{
	return watch_is_whole(&control_server.watch) &&
	       descriptor_is_ours(&control_server.listener) &&
	       watch_has(&control_server.watch, &control_server.timer);
}
