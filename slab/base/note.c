/* SPDX-License-Identifier: MIT */
/*
 * Notes use neither stdio nor malloc, because the heap that these use may be the subject of the
 * note.
 *
 * A note must not end or stop the program that it is about. A write to a pipe without a reader
 * raises SIGPIPE, and one beyond the limit of a file's size SIGXFSZ: the thread blocks both and
 * takes back the one that it caused. A write to a full pipe waits for the reader: poll() waits for
 * a second at most, and the rest is dropped. Between poll() and the write another thread may fill
 * the pipe, so the write itself must not wait. O_NONBLOCK would do that to all processes that share
 * the pipe, RWF_NOWAIT does it to one write. Before Linux 6.4 pipes lack it: then a piece is small
 * enough to fit after poll(), unless another thread was faster.
 */
#define _GNU_SOURCE
#include "base/note.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <slab/stats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/signals.h"

/* Some C libraries lack it. */
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif

/* note_write() waits for a slow reader, but not longer than this, and not again until something
 * could be written. */
#define WRITE_WAIT_US UINT64_C(1000000)

static uint32_t dropped; /* texts since the last one that was written */

/* --- signals that a write causes --------------------------------------------------------- */

#define WRITE_SIGNALS (UINT64_C(1) << (SIGPIPE - 1) | UINT64_C(1) << (SIGXFSZ - 1))

/* A signal can only be pending if the thread had it blocked before. */
static uint64_t pending_before(uint64_t mask)
{
	uint64_t pending = 0;

	if (mask & WRITE_SIGNALS)
		syscall(SYS_rt_sigpending, &pending, sizeof(pending));
	return pending;
}

static void take_back(uint64_t signals)
{
	const struct timespec now = {0};

	syscall(SYS_rt_sigtimedwait, &signals, NULL, &now, sizeof(signals));
}

/* --- writing without waiting ------------------------------------------------------------- */

static bool has_reader(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

static bool wait_for_room(int fd, uint64_t end)
{
	struct pollfd room = {.fd = fd, .events = POLLOUT};
	int found;

	do {
		uint64_t now = clock_us();

		found = poll(&room, 1, now < end ? (int)((end - now + 999) / 1000) : 0);
	} while (found < 0 && errno == EINTR);
	return found > 0;
}

static ssize_t write_piece(int fd, const char *text, size_t len)
{
	struct iovec piece = {(char *)text, len < PIPE_BUF ? len : PIPE_BUF};
	long done;

	if (has_reader(fd)) {
		/* The position -1: none. A system call, because some C libraries lack
		 * pwritev2(). */
		done = syscall(SYS_pwritev2, fd, &piece, 1L, -1L, -1L, (long)RWF_NOWAIT);
		if (done >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
			return done;
	}
	return write(fd, piece.iov_base, piece.iov_len);
}

/* false: the rest is lost, and errno says why. */
static bool write_all(int fd, const char *text, size_t len, uint64_t wait_us)
{
	const uint64_t end = clock_us() + wait_us;

	errno = 0;
	while (len > 0 && wait_for_room(fd, end)) {
		ssize_t done = write_piece(fd, text, len);

		if (done < 0 && (errno == EINTR || (errno == EAGAIN && clock_us() < end)))
			continue;
		if (done <= 0)
			return false;
		text += done;
		len -= (size_t)done;
	}
	return len == 0;
}

/* How many texts are missing before this one. */
static bool write_dropped(int fd, uint32_t count)
{
	char text[80];
	int len = snprintf(text, sizeof(text),
			   "libslab: %u message%s could not be written, and %s dropped\n", count,
			   count == 1 ? "" : "s", count == 1 ? "was" : "were");

	return write_all(fd, text, (size_t)len, 0);
}

static bool write_text(int fd, const char *text, size_t len)
{
	const uint32_t count = __atomic_exchange_n(&dropped, 0, __ATOMIC_RELAXED);
	const bool written = (!count || write_dropped(fd, count)) &&
			     write_all(fd, text, len, count ? 0 : WRITE_WAIT_US);

	if (!written)
		__atomic_add_fetch(&dropped, count + 1, __ATOMIC_RELAXED);
	return written;
}

void note_write(int fd, const char *text, size_t len)
{
	const uint64_t mask = signals_block_set(WRITE_SIGNALS), pending = pending_before(mask);

	if (!write_text(fd, text, len) && (errno == EPIPE || errno == EFBIG))
		take_back(WRITE_SIGNALS & ~pending);
	signals_restore(mask);
}

/* --- lines -------------------------------------------------------------------------------- */

void note_format(struct note_line *line, const char *prefix, const char *format, va_list args)
{
	size_t start = strlen(prefix);

	memcpy(line->text, prefix, start + 1);
	vsnprintf(line->text + start, sizeof(line->text) - start - 1, format, args);
	line->len = strlen(line->text);
	line->text[line->len++] = '\n';
}

static void note(const char *format, va_list args)
{
	int saved_errno = errno, cancel = cancel_disable();
	struct note_line line;

	note_format(&line, "libslab: ", format, args);
	note_write(STDERR_FILENO, line.text, line.len);
	cancel_restore(cancel);
	errno = saved_errno;
}

void slab_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(format, args);
	va_end(args);
}

void slab_fatal(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(format, args);
	va_end(args);
	abort();
}

void slab_write_stderr(const char *text, size_t length)
{
	int saved = errno, cancel = cancel_disable();

	note_write(STDERR_FILENO, text, length);
	cancel_restore(cancel);
	errno = saved;
}
