/* SPDX-License-Identifier: MIT */
/*
 * The request of the control socket that reads memory: "read ADDRESS SIZE STRIDE COUNT". It serves users
 * who may not read the process themselves (ptrace(2)), and gives them libslab's own structures alone. The
 * kernel copies, so memory that a thread unmaps meanwhile is an error.
 */
#include <errno.h>
#include <limits.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/peek.h"
#include "base/text.h"
#include "control/cache_request.h"
#include "control/own_memory.h"
#include "control/reply.h"
#include "core/registry.h"

#define READ_BYTES_MAX (1L << 18)
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
	       take_number(&rest, 1, READ_BYTES_MAX / pieces->size, &pieces->count) && !*rest;
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
	long n = pieces->size;

	for (long i = 0; i < pieces->count && n == pieces->size; i++)
		n = peek(to + i * n, piece(pieces, i), (size_t)n);
	return n == pieces->size || (n < 0 && n != -EFAULT && copy_through_socket(pieces, to));
}

/* Write the bytes behind the line of the answer. false: not all of them are there. */
static bool put_bytes(struct slab_json *reply, const struct pieces *pieces)
{
	const size_t bytes = (size_t)(pieces->size * pieces->count);
	char *to;

	control_begin(reply, true);
	slab_json_number(reply, "bytes", bytes);
	control_end(reply);
	to = slab_json_room(reply, bytes);
	return !to || copy(pieces, to);
}

void control_answer_read(struct slab_json *reply, const char *rest)
{
	struct pieces pieces;
	long foreign;

	if (!parse(rest, &pieces)) {
		slab_control_refuse(reply,
				    "read needs an address, a size, a distance and a number of "
				    "pieces, of %ld bytes together at most",
				    READ_BYTES_MAX);
		return;
	}
	if (!mutex_lock_timed(&registry_lock)) {
		slab_control_refuse(reply, "another thread is creating or destroying a cache");
		return;
	}
	foreign = find_foreign(&pieces);
	pthread_mutex_unlock(&registry_lock);
	if (foreign < pieces.count) {
		slab_control_refuse(reply, "%p has no structure of libslab",
				    (const void *)piece(&pieces, foreign));
	} else if (!put_bytes(reply, &pieces)) {
		slab_json_free(reply);
		slab_control_refuse(reply, "the memory is gone, or may not be copied");
	}
}
