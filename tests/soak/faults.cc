/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of system calls. munmap() is not among them: it fails only for lack of memory for
 * another mapping, and then the memory is lost by rights.
 */
#include "faults.h"

#include <cstdarg>

#include "oracle.h"

namespace
{

std::atomic<unsigned> interval;
std::atomic<unsigned long> calls, failures;

bool is_to_fail(int error)
{
	const unsigned every = interval.load(std::memory_order_relaxed);

	if (!every || calls.fetch_add(1, std::memory_order_relaxed) % every != 0)
		return false;
	failures.fetch_add(1, std::memory_order_relaxed);
	errno = error;
	return true;
}

thread_local bool may_be_cancelled __attribute__((tls_model("initial-exec")));

void reach_cancellation_point(const char *call)
{
	int state;

	if (!may_be_cancelled)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_setcancelstate(state, nullptr);
	if (state != PTHREAD_CANCEL_ENABLE)
		return;
	may_be_cancelled = false; /* error() writes */
	soak::error("a cancellation point", call, nullptr, 0);
	may_be_cancelled = true;
}

} /* namespace */

/* The names are those of ld --wrap. */
#define REAL(call) __real_##call
#define WRAP(call) __wrap_##call

/* A wrapper of a call that returns `failure` and errno. */
#define WRAPPER(type, call, failure, error, parameters, arguments)                                 \
	type REAL(call) parameters;                                                                \
	type WRAP(call) parameters;                                                                \
	type WRAP(call) parameters                                                                 \
	{                                                                                          \
		return is_to_fail(error) ? (failure) : REAL(call) arguments;                       \
	}

/* A wrapper of a cancellation point. */
#define POINT(type, call, parameters, arguments)                                                   \
	type REAL(call) parameters;                                                                \
	type WRAP(call) parameters;                                                                \
	type WRAP(call) parameters                                                                 \
	{                                                                                          \
		reach_cancellation_point(#call);                                                   \
		return REAL(call) arguments;                                                       \
	}

extern "C" {
WRAPPER(void *, mmap, MAP_FAILED, ENOMEM,
	(void *at, size_t bytes, int access, int flags, int fd, off_t offset),
	(at, bytes, access, flags, fd, offset))
WRAPPER(int, mprotect, -1, ENOMEM, (void *at, size_t bytes, int access), (at, bytes, access))
WRAPPER(int, madvise, -1, EAGAIN, (void *at, size_t bytes, int advice), (at, bytes, advice))
WRAPPER(int, socket, -1, EMFILE, (int domain, int type, int protocol), (domain, type, protocol))
WRAPPER(int, socketpair, -1, EMFILE, (int domain, int type, int protocol, int *pair),
	(domain, type, protocol, pair))
POINT(int, close, (int fd), (fd))
POINT(ssize_t, read, (int fd, void *to, size_t bytes), (fd, to, bytes))
POINT(ssize_t, write, (int fd, const void *from, size_t bytes), (fd, from, bytes))
POINT(ssize_t, send, (int fd, const void *from, size_t bytes, int flags), (fd, from, bytes, flags))
POINT(ssize_t, recv, (int fd, void *to, size_t bytes, int flags), (fd, to, bytes, flags))
POINT(int, connect, (int fd, const struct sockaddr *to, socklen_t length), (fd, to, length))
POINT(int, epoll_wait, (int epoll, struct epoll_event *events, int most, int ms),
      (epoll, events, most, ms))
POINT(int, poll, (struct pollfd * polled, nfds_t n, int ms), (polled, n, ms))
POINT(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left))
WRAPPER(int, accept4, -1, EMFILE, (int fd, struct sockaddr *from, socklen_t *length, int flags),
	(fd, from, length, flags))
WRAPPER(int, epoll_create1, -1, EMFILE, (int flags), (flags))
WRAPPER(int, timerfd_create, -1, EMFILE, (int clock, int flags), (clock, flags))
WRAPPER(int, inotify_init1, -1, EMFILE, (int flags), (flags))
WRAPPER(int, fcntl, -1, EINVAL, (int fd, int command, long argument), (fd, command, argument))

void *REAL(mremap)(void *at, size_t bytes, size_t to_bytes, int flags, void *to);
void *WRAP(mremap)(void *at, size_t bytes, size_t to_bytes, int flags, ...);
void *WRAP(mremap)(void *at, size_t bytes, size_t to_bytes, int flags, ...)
{
	va_list arguments;
	void *to = nullptr;

	va_start(arguments, flags);
	if (flags & MREMAP_FIXED)
		to = va_arg(arguments, void *);
	va_end(arguments);
	return is_to_fail(ENOMEM) ? MAP_FAILED : REAL(mremap)(at, bytes, to_bytes, flags, to);
}

int REAL(open)(const char *path, int flags, unsigned mode);
int WRAP(open)(const char *path, int flags, unsigned mode);
int WRAP(open)(const char *path, int flags, unsigned mode)
{
	reach_cancellation_point("open");
	return is_to_fail(EMFILE) ? -1 : REAL(open)(path, flags, mode);
}

/* It returns the error. */
int REAL(pthread_create)(pthread_t *thread, const pthread_attr_t *how, void *(*body)(void *),
			 void *arg);
int WRAP(pthread_create)(pthread_t *thread, const pthread_attr_t *how, void *(*body)(void *),
			 void *arg);
int WRAP(pthread_create)(pthread_t *thread, const pthread_attr_t *how, void *(*body)(void *),
			 void *arg)
{
	return is_to_fail(EAGAIN) ? EAGAIN : REAL(pthread_create)(thread, how, body, arg);
}
}

namespace soak
{

void fail_calls(unsigned every)
{
	interval = every;
}

void watch_cancellation_points()
{
	may_be_cancelled = true;
}

void nap(const struct timespec *time)
{
	REAL(nanosleep)(time, nullptr);
}

unsigned long failed_calls()
{
	return failures.load();
}

int create_thread(pthread_t *thread, void *(*body)(void *), void *arg)
{
	return REAL(pthread_create)(thread, nullptr, body, arg);
}

} /* namespace soak */
