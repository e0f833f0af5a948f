/* SPDX-License-Identifier: MIT */
/* Notes use neither stdio nor malloc, because the heap that these use may be the subject of the
 * note. */
#include "base/note.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"

/* note_write() waits for a slow reader, but not longer than this. */
#define WRITE_WAIT_MS 1000

/* EAGAIN: the application made the descriptor non-blocking, and the reader is slow. */
static bool wait_for_room(int fd)
{
	struct pollfd room = {.fd = fd, .events = POLLOUT};

	return poll(&room, 1, WRITE_WAIT_MS) > 0;
}

void note_write(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t done = write(fd, text, len);

		if (done < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_room(fd))))
			continue;
		if (done <= 0)
			return;
		text += done;
		len -= (size_t)done;
	}
}

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
