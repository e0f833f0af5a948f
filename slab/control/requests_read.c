/* SPDX-License-Identifier: MIT */
/*
 * The request of the control socket that reads memory: "read ADDRESS SIZE STRIDE COUNT". It serves users
 * who may not read the process themselves (ptrace(2)), and gives them libslab's own structures alone. The
 * kernel copies, so memory that a thread unmaps meanwhile is an error.
 */
#include <limits.h>

#include "base/clock.h"
#include "base/peek.h"
#include "base/text.h"
#include "control/cache_request.h"
#include "control/own_memory.h"
#include "control/reply.h"
#include "core/registry.h"

#define READ_BYTES_MAX (1L << 18)

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

/* Write the bytes behind the line of the answer. false: not all of them are there. */
static bool put_bytes(struct slab_json *reply, const struct pieces *pieces)
{
	const size_t size = (size_t)pieces->size;
	char *to;

	control_begin(reply, true);
	slab_json_number(reply, "bytes", (uint64_t)(pieces->size * pieces->count));
	control_end(reply);
	to = slab_json_room(reply, size * (size_t)pieces->count);
	for (long i = 0; i < pieces->count && to; i++, to += size)
		if (peek(to, piece(pieces, i), size) != pieces->size)
			return false;
	return true;
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
		slab_control_refuse(reply, "the memory is gone, or a system call filter forbids "
					   "process_vm_readv()");
	}
}
