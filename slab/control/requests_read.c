/* SPDX-License-Identifier: MIT */
/*
 * The request of the control socket that reads memory: "read ADDRESS SIZE STRIDE COUNT". It serves
 * users who may not read the process themselves (ptrace(2)), and gives them libslab's own
 * structures alone. Locks keep these where they are until they are copied: afterwards the program
 * may have other data there.
 */
#include <errno.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/peek.h"
#include "base/text.h"
#include "control/cache_request.h"
#include "control/own_memory.h"
#include "control/reply.h"
#include "core/registry.h"
#include "pages/segment.h"

#define READ_BYTES_MAX (1L << 18)
#define READ_PIECES_MAX 1024L
#define PIECES_AT_ONCE 64L
#define SOCKET_BYTES 16384u /* less than a socket holds */

struct pieces {
	long address, size, stride, count;
};

static bool take_number(const char **rest, long min, long max, long *number)
{
	const char *word;
	const size_t len = control_cut_word(rest, &word);

	return option_number(word, len, min, max, number);
}

static bool parse(const char *rest, struct pieces *pieces)
{
	return take_number(&rest, 1, LONG_MAX / 2, &pieces->address) &&
	       take_number(&rest, 1, READ_BYTES_MAX, &pieces->size) &&
	       take_number(&rest, 0, INT_MAX, &pieces->stride) &&
	       take_number(&rest, 1, READ_PIECES_MAX, &pieces->count) && !*rest &&
	       pieces->count <= READ_BYTES_MAX / pieces->size;
}

static const char *piece(const struct pieces *pieces, long i)
{
	return (const char *)(pieces->address + i * pieces->stride);
}

/* The number of the first piece that may not be read. */
static long find_foreign(const struct pieces *pieces)
{
	long i = 0;

	while (i < pieces->count && own_memory_has(piece(pieces, i), (size_t)pieces->size))
		i++;
	return i;
}

static bool pass(const struct descriptor *writer, int reader, char *to, const char *from,
		 size_t size)
{
	size_t n;

	for (; size; size -= n, from += n, to += n) {
		n = size < SOCKET_BYTES ? size : SOCKET_BYTES;
		if (!descriptor_send(writer, from, n) ||
		    recv(reader, to, n, MSG_DONTWAIT) != (ssize_t)n)
			return false;
	}
	return true;
}

/* Where a system call filter refuses peek(): into a socket the kernel copies as carefully. */
static bool copy_through_socket(const struct pieces *pieces, char *to)
{
	struct descriptor writer = DESCRIPTOR_NONE;
	bool copied = true;
	int reader;

	if (descriptor_stream(&writer, &reader, DESCRIPTORS_FROM) != 0)
		return false;
	for (long i = 0; i < pieces->count && copied; i++, to += pieces->size)
		copied = pass(&writer, reader, to, piece(pieces, i), (size_t)pieces->size);
	close(reader);
	descriptor_close(&writer);
	return copied;
}

static bool copy(const struct pieces *pieces, char *to)
{
	struct iovec from[PIECES_AT_ONCE];
	long bytes = 0, copied = 0;

	for (long i = 0, n = 0; i < pieces->count && copied == bytes; i += n) {
		for (n = 0; n < PIECES_AT_ONCE && i + n < pieces->count; n++)
			from[n] =
				(struct iovec){(void *)piece(pieces, i + n), (size_t)pieces->size};
		bytes = n * pieces->size;
		copied = peek_pieces(to + i * pieces->size, (size_t)bytes, from, (size_t)n);
	}
	return copied == bytes ||
	       (copied < 0 && copied != -EFAULT && copy_through_socket(pieces, to));
}

/* The line of the answer, and room for the bytes behind it. NULL: there is no memory. */
static char *make_room(struct slab_json *reply, size_t bytes)
{
	control_begin(reply, true);
	slab_json_number(reply, "bytes", bytes);
	control_end(reply);
	return slab_json_room(reply, bytes);
}

static void refuse(struct slab_json *reply, const struct pieces *pieces, long foreign)
{
	slab_json_free(reply);
	if (foreign < pieces->count)
		slab_control_refuse(reply, "%p has no structure of libslab",
				    (const void *)piece(pieces, foreign));
	else
		slab_control_refuse(reply, "the memory is gone, or may not be copied");
}

void control_answer_read(struct slab_json *reply, const char *rest)
{
	struct pieces pieces;
	long foreign;
	bool copied;
	char *to;

	if (!parse(rest, &pieces)) {
		slab_control_refuse(reply,
				    "read needs an address, a size, a distance and a number of "
				    "pieces, at most %ld of %ld bytes together",
				    READ_PIECES_MAX, READ_BYTES_MAX);
		return;
	}
	to = make_room(reply, (size_t)(pieces.size * pieces.count));
	if (!to)
		return;
	if (!mutex_lock_timed(&registry_lock)) {
		slab_json_free(reply);
		slab_control_refuse(reply, "another thread is creating or destroying a cache");
		return;
	}
	segment_lock();
	foreign = find_foreign(&pieces);
	copied = foreign == pieces.count && copy(&pieces, to);
	segment_unlock();
	pthread_mutex_unlock(&registry_lock);
	if (!copied)
		refuse(reply, &pieces, foreign);
}
