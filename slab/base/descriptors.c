/* SPDX-License-Identifier: MIT */
/* descriptor_take() publishes the number last; closing withdraws it first. So the child of a fork
 * at any moment never mistakes a file of the application for one of libslab's. */
#define _GNU_SOURCE
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* descriptor_send() waits for a slow reader, but not longer than this. */
#define SEND_WAIT_SECONDS 1

/* --- one ---------------------------------------------------------------------------- */

static void forget(struct descriptor *descriptor)
{
	__atomic_store_n(&descriptor->fd, -1, __ATOMIC_RELEASE);
}

static void forget_and_close(struct descriptor *descriptor)
{
	int fd = descriptor_number(descriptor);

	forget(descriptor);
	close(fd);
}

/* The lowest number to use: `from`, or half of the limit if that is lower. */
static int first_number(unsigned from)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < from)
		return (int)(limit.rlim_cur / 2);
	return (int)from;
}

/* Move fd to a free number >= from. If there is none, retry with lower numbers. Returns the new
 * number, or -1. */
static int move_up(int fd, int from)
{
	const int lowest = STDERR_FILENO + 1;
	int moved = -1;

	if (fd >= from && fd >= lowest)
		return fd;
	while (from > lowest && (moved = fcntl(fd, F_DUPFD_CLOEXEC, from)) < 0)
		from /= 2;
	if (moved < 0)
		moved = fd < lowest ? fcntl(fd, F_DUPFD_CLOEXEC, lowest) : fd;
	return moved;
}

int descriptor_take(struct descriptor *descriptor, int fd, unsigned from)
{
	int moved = fd < 0 ? -1 : move_up(fd, first_number(from));
	int error = 0;
	struct stat st;

	if (moved < 0 || fstat(moved, &st) != 0)
		error = -errno;
	if (fd >= 0 && moved != fd)
		close(fd);
	if (error)
		return error;
	__atomic_store_n(&descriptor->device, st.st_dev, __ATOMIC_RELAXED);
	__atomic_store_n(&descriptor->inode, st.st_ino, __ATOMIC_RELAXED);
	__atomic_store_n(&descriptor->fd, moved, __ATOMIC_RELEASE);
	return 0;
}

bool descriptor_is_ours(const struct descriptor *descriptor)
{
	int fd = descriptor_number(descriptor);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 &&
	       st.st_dev == __atomic_load_n(&descriptor->device, __ATOMIC_RELAXED) &&
	       st.st_ino == __atomic_load_n(&descriptor->inode, __ATOMIC_RELAXED);
}

void descriptor_close(struct descriptor *descriptor)
{
	if (descriptor_is_ours(descriptor))
		forget_and_close(descriptor);
	else
		forget(descriptor);
}

int descriptor_stream(struct descriptor *descriptor, int *ret_reader, unsigned from)
{
	const struct timeval most = {.tv_sec = SEND_WAIT_SECONDS};
	int ends[2], error;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	shutdown(ends[0], SHUT_RD);
	error = descriptor_take(descriptor, ends[0], from);
	if (error)
		close(ends[1]);
	else
		*ret_reader = ends[1];
	return error;
}

bool descriptor_send(const struct descriptor *descriptor, const char *text, size_t len)
{
	while (len > 0 && descriptor_is_ours(descriptor)) {
		ssize_t done = send(descriptor_number(descriptor), text, len, MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		text += done;
		len -= (size_t)done;
	}
	return len == 0;
}

/* --- watches ------------------------------------------------------------------------ */

static int control(const struct watch *watch, int operation, const struct descriptor *descriptor,
		   uint32_t events, uint32_t tag)
{
	struct epoll_event event = {.events = events, .data.u32 = tag};

	return epoll_ctl(descriptor_number(&watch->epoll), operation, descriptor_number(descriptor),
			 &event);
}

static int open_pair(struct watch *watch, unsigned from)
{
	int fd[2], error;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) != 0)
		return -errno;
	error = descriptor_take(&watch->near_end, fd[0], from);
	if (error)
		close(fd[1]);
	else
		error = descriptor_take(&watch->far_end, fd[1], from);
	return error;
}

int watch_open(struct watch *watch, unsigned from)
{
	int error = open_pair(watch, DESCRIPTORS_FROM);

	if (!error)
		error = descriptor_take(&watch->epoll, epoll_create1(EPOLL_CLOEXEC), from);
	if (!error && control(watch, EPOLL_CTL_ADD, &watch->near_end, EPOLLIN, WATCH_TAG) != 0) {
		error = -errno;
		forget_and_close(&watch->epoll);
	}
	if (error)
		watch_close(watch);
	return error;
}

void watch_close(struct watch *watch)
{
	if (watch_is_ours(watch))
		forget_and_close(&watch->epoll);
	forget(&watch->epoll);
	descriptor_close(&watch->near_end);
	descriptor_close(&watch->far_end);
}

/* EPOLL_CTL_MOD with the present settings succeeds only if the epoll watches near_end. It changes
 * nothing in this process or in one that shares the epoll. */
bool watch_is_ours(const struct watch *watch)
{
	return descriptor_is_ours(&watch->near_end) &&
	       control(watch, EPOLL_CTL_MOD, &watch->near_end, EPOLLIN, WATCH_TAG) == 0;
}

bool watch_is_whole(const struct watch *watch)
{
	return descriptor_is_ours(&watch->far_end) && watch_is_ours(watch);
}

int watch_set(const struct watch *watch, int operation, const struct descriptor *descriptor,
	      uint32_t events, uint32_t tag)
{
	if (watch_is_ours(watch))
		return control(watch, operation, descriptor, events, tag);
	errno = EBADF;
	return -1;
}

/* EPOLL_CTL_ADD of an entry that exists fails and changes nothing, even if a process shares the
 * epoll after a fork. If it succeeds, the file was not watched, so the function removes it
 * again. */
bool watch_has(const struct watch *watch, const struct descriptor *descriptor)
{
	if (!descriptor_is_ours(descriptor) || !watch_is_ours(watch))
		return false;
	if (control(watch, EPOLL_CTL_ADD, descriptor, 0, WATCH_TAG) != 0)
		return errno == EEXIST;
	control(watch, EPOLL_CTL_DEL, descriptor, 0, 0);
	return false;
}

void watch_drop(const struct watch *watch, struct descriptor *descriptor)
{
	if (watch_has(watch, descriptor))
		forget_and_close(descriptor);
	else
		forget(descriptor);
}

int watch_wait(const struct watch *watch, const struct descriptor *const *more)
{
	struct pollfd polled[2 + WATCH_WAITS] = {
		{.fd = descriptor_number(&watch->epoll), .events = POLLIN},
		{.fd = descriptor_number(&watch->near_end), .events = POLLIN},
	};
	nfds_t n = 2;

	for (; *more; more++)
		polled[n++] = (struct pollfd){.fd = descriptor_number(*more), .events = POLLIN};
	if (watch_is_whole(watch) && poll(polled, n, -1) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

void watch_wake(const struct watch *watch)
{
	/* A system call, because send() is a cancellation point. */
	if (descriptor_is_ours(&watch->far_end))
		syscall(SYS_sendto, descriptor_number(&watch->far_end), "", (size_t)1,
			MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
}

void watch_answer(const struct watch *watch)
{
	char bytes[64];

	while (descriptor_is_ours(&watch->near_end) &&
	       recv(descriptor_number(&watch->near_end), bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}
