/* SPDX-License-Identifier: MIT */
/*
 * File descriptors that libslab keeps open in the application's process.
 *
 * The application may close any descriptor number (daemons close all of them) and get it again for
 * a file of its own. So each file that stays open is a struct descriptor with a high number, which
 * applications seldom use. libslab checks it before every use and before closing it. If the number
 * is another file by then, libslab forgets it and never closes it.
 *
 * What proves that a number still is libslab's file:
 *
 *   sockets   Device and inode: no other socket has them.
 *   watches   A watch is an epoll and a pair of connected sockets. All anonymous inodes
 *             are the same, but an epoll entry names a file and a number. So the epoll
 *             is libslab's if it watches near_end of the pair.
 *   others    (timerfd, inotify, PSI) A watch of libslab's has this file under this
 *             number.
 *
 * The pair has a second use. watch_wait() waits in poll(), which keeps the files open: the epoll,
 * near_end, and the descriptors in `more`. If the application closes far_end, the thread wakes up
 * and finds the closed numbers. (It keeps waiting if each number is by then a file of the
 * application that is not ready.)
 *
 * Between check and use another thread may close the number, as with every descriptor. Any thread
 * may call the functions that check; only one thread opens and closes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct descriptor {
	int fd; /* -1: none */
	uint64_t device, inode;
};

/* Static initializers. */
#define DESCRIPTOR_NONE {-1, 0, 0}
#define WATCH_NONE {DESCRIPTOR_NONE, DESCRIPTOR_NONE, DESCRIPTOR_NONE}

/* The first number to use, if the limit allows. It is above the numbers of most applications, but
 * keeps the descriptor table, which every fork copies, small. */
#define DESCRIPTORS_FROM 1024u
/* The first number for a descriptor that the application watches, perhaps with select(). */
#define DESCRIPTORS_FROM_SELECT 512u

/*
 * descriptor_take: move `fd`, which the caller has just opened with CLOEXEC, to a higher number,
 * never 0 to 2. Returns 0 or -errno; after an error nothing is open. If fd is negative, errno of
 * the failed call is returned.
 */
int descriptor_take(struct descriptor *descriptor, int fd, unsigned from);

/* The number, or -1. Any thread may call it. */
static inline int descriptor_number(const struct descriptor *descriptor)
{
	return __atomic_load_n(&descriptor->fd, __ATOMIC_ACQUIRE);
}

/* Does the number still have the same inode? For sockets this proves that it is libslab's. */
bool descriptor_is_ours(const struct descriptor *descriptor);

/* Close a socket if it is libslab's; forget it in any case. */
void descriptor_close(struct descriptor *descriptor);

/* descriptor_stream: open a write-only socket and *ret_reader, a plain descriptor at its other end.
 * Returns 0 or -errno; after an error nothing is open. */
int descriptor_stream(struct descriptor *descriptor, int *ret_reader, unsigned from);

/* descriptor_send: send the whole text; each part may wait for a second. false: not all was sent,
 * or the socket is not libslab's. May change errno. Async-signal-safe. */
bool descriptor_send(const struct descriptor *descriptor, const char *text, size_t len);

/* --- watches ------------------------------------------------------------------------ */

struct watch {
	struct descriptor epoll;
	struct descriptor near_end; /* the epoll watches this end of the pair */
	struct descriptor far_end;
};

/* The tag of events for which the caller calls watch_answer(). */
#define WATCH_TAG UINT32_MAX

/* Returns 0 or -errno; after an error nothing is open. */
int watch_open(struct watch *watch, unsigned from);
/* The caller has closed the descriptors that the epoll watches. */
void watch_close(struct watch *watch);

/* Is the epoll libslab's? */
bool watch_is_ours(const struct watch *watch);
/* Are the epoll and both ends of the pair libslab's? */
bool watch_is_whole(const struct watch *watch);

/* epoll_ctl(): returns 0, or -1 with errno; EBADF if the epoll is not libslab's. */
int watch_set(const struct watch *watch, int operation, const struct descriptor *descriptor,
	      uint32_t events, uint32_t tag);
/* Is the epoll libslab's, and does it watch this descriptor? */
bool watch_has(const struct watch *watch, const struct descriptor *descriptor);
/* Close a descriptor that the epoll watches if it is libslab's; forget it in any case. */
void watch_drop(const struct watch *watch, struct descriptor *descriptor);

/* Wait until epoll_wait() has events, or until the caller must check watch_is_whole(). `more` is a
 * NULL-terminated list of WATCH_WAITS descriptors at most that the epoll watches; their events end
 * the wait even if the epoll is lost. Returns 0, or -errno: the process may not wait. */
#define WATCH_WAITS 2
int watch_wait(const struct watch *watch, const struct descriptor *const *more);
/* End watch_wait() of another thread. If far_end was lost, that has ended the wait already. No
 * cancellation point: slow paths call this. */
void watch_wake(const struct watch *watch);
/* Discard the bytes of watch_wake(), after an event with WATCH_TAG. */
void watch_answer(const struct watch *watch);
