/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that libslab keeps open.
 *
 * Descriptor numbers belong to the application: it may close them all (daemons do), and get
 * them again for files of its own. So each file that stays open is a struct descriptor. It
 * has a high number, which applications seldom use. libslab checks it before every use and
 * before closing it. When the number is another file by then, libslab forgets it and never
 * closes it.
 *
 * What proves that a number is still ours:
 *
 *   sockets        device and inode: no other socket has them
 *   a watch        an epoll, with a pair of connected sockets. Anonymous inodes are all the
 *                  same, but entries of an epoll have a file and a number: the epoll is
 *                  ours if it watches our end of the pair
 *   whatever else  (timerfd, inotify, PSI) that our epoll watches this file under this number
 *
 * The pair has another use. A thread that waits for a watch waits in poll(), which keeps the
 * files open for as long: for the epoll, our end of the pair, and what else matters. When
 * the application closes the other end, the thread wakes, and finds numbers that are closed.
 * (It sleeps on if by then each of them is a file of the application's that is not ready.)
 *
 * Between the check and the use another thread may close the number, as with every
 * descriptor. Any thread may call the functions that check; one thread opens and closes.
 */
#ifndef SLAB_BASE_DESCRIPTORS_H
#define SLAB_BASE_DESCRIPTORS_H

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

/* Where numbers begin, if the limit allows: behind those of most applications, while the
 * table of descriptors, which every fork copies, stays small. */
#define DESCRIPTORS_FROM 1024u
/* The same for one that the application is to watch, perhaps by select(). */
#define DESCRIPTORS_FROM_SELECT 512u

/*
 * descriptor_take: take over `fd`, which was opened just now (with CLOEXEC), under a higher
 * number, never one of 0 to 2. Returns 0, or -errno and nothing is open: that of the failed
 * call when fd is negative.
 */
int descriptor_take(struct descriptor *descriptor, int fd, unsigned from);

/* Any thread: its number, or -1. */
static inline int descriptor_number(const struct descriptor *descriptor)
{
	return __atomic_load_n(&descriptor->fd, __ATOMIC_ACQUIRE);
}

/* Is it the same inode still? For sockets that is proof. */
bool descriptor_is_ours(const struct descriptor *descriptor);

/* A socket: close it if it is ours, forget it in any case. */
void descriptor_close(struct descriptor *descriptor);

/* descriptor_stream: a socket that can only be written to, and *ret_reader, a plain
 * descriptor, at its other end. Returns 0 or -errno, when nothing is open. */
int descriptor_stream(struct descriptor *descriptor, int *ret_reader, unsigned from);

/* descriptor_send: all of the text, each part of it within a second. False: not all, or
 * the socket is not ours. errno is not kept. Async-signal-safe. */
bool descriptor_send(const struct descriptor *descriptor, const char *text, size_t len);

/* --- watches ------------------------------------------------------------------------ */

struct watch {
	struct descriptor epoll;
	struct descriptor near_end; /* of the pair: the epoll watches it */
	struct descriptor far_end;
};

/* The tag of events that are for watch_answer(). */
#define WATCH_TAG UINT32_MAX

/* Returns 0 or -errno, when nothing is open. */
int watch_open(struct watch *watch, unsigned from);
/* What it watches is closed before. */
void watch_close(struct watch *watch);

/* The epoll is ours. */
bool watch_is_ours(const struct watch *watch);
/* So are both ends of the pair. */
bool watch_is_whole(const struct watch *watch);

/* epoll_ctl(): 0, or -1 and errno; EBADF: the epoll is not ours. */
int watch_set(const struct watch *watch, int operation, const struct descriptor *descriptor,
	      uint32_t events, uint32_t tag);
/* The epoll is ours, and so is this, which it watches. */
bool watch_has(const struct watch *watch, const struct descriptor *descriptor);
/* What it watches: close it if it is ours, forget it in any case. */
void watch_drop(const struct watch *watch, struct descriptor *descriptor);

/* Wait until there is something for epoll_wait(), or until watch_is_whole() is to be asked.
 * `more` are WATCH_WAITS descriptors at most that it watches, to be found as well if the
 * epoll is lost; NULL ends them. */
#define WATCH_WAITS 2
void watch_wait(const struct watch *watch, const struct descriptor *const *more);
/* Any thread: end that wait. Nothing happens when the far end was lost: that has done it. */
void watch_wake(const struct watch *watch);
/* There was an event with WATCH_TAG. */
void watch_answer(const struct watch *watch);

#endif /* SLAB_BASE_DESCRIPTORS_H */
