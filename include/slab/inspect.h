/* SPDX-License-Identifier: MIT */
/*
 * Looking into a process from outside: its caches, read from its memory without
 * its help. slabinfo does this to a process that hangs, that is stopped, or that
 * left a core file; and what a process says of itself over its control socket is
 * read by the same code from its own memory.
 *
 * All that is needed is a function that reads memory, and the address of the
 * process's *root*, the table from which everything else is found. Nothing is
 * locked and nobody is stopped: what changes while it is read may be counted
 * before or after the change, as <slab/stats.h> says.
 *
 * Threads: any, as far as the reader allows. Signals: not async-signal-safe. Cancellation:
 * as in <slab/slab.h>.
 */
#ifndef SLAB_INSPECT_H
#define SLAB_INSPECT_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Where the root is: an ELF note of this owner and type in the object that libslab
 * is part of (libslab.so, or a program that is linked statically). Its descriptor
 * is struct slab_inspect_note; the note lies in memory, and the root `offset`
 * bytes from the descriptor's first byte.
 */
#define SLAB_INSPECT_NOTE_OWNER "libslab"
#define SLAB_INSPECT_NOTE_TYPE 1

struct slab_inspect_note {
	int64_t offset;
};

/* Reads the memory of a process. */
struct slab_reader {
	size_t struct_size; /* set by the caller: sizeof(struct slab_reader) */
	/*
	 * Copy `count` pieces of `size` bytes to `to`, one behind the other. The first
	 * is at `address`, each further one `stride` bytes behind the one before. Neither
	 * `size` nor `count` is ever 0.
	 * Returns 0, or -errno when any of it cannot be read.
	 */
	int (*read)(void *arg, uint64_t address, size_t size, size_t stride, size_t count,
		    void *to);
	void *arg;
	int pid;             /* the process, to be named in answers */
	const char *command; /* its name, likewise; NULL: not known */
	uint64_t now_ms;     /* of its CLOCK_MONOTONIC, in milliseconds; 0: not known (a core
			        file): then ages count back from the last thing that happened */
};

/* A JSON document, as the control socket sends it (docs/control.md). */
struct slab_answer {
	char *text; /* length bytes, a newline last, and a zero behind them */
	size_t length;
	size_t mapped; /* bytes to be given back, which only slab_answer_free() is interested in */
};

/*
 * slab_inspect: answer a request of the control protocol from memory.
 *
 * @root     address of the root
 * @request  without "slab/1": "ping", "stats", "slabs NAME", or
 *           "traces allocated|freed SINCE NAME"
 * @answer   to be freed with slab_answer_free(), whatever is returned
 *
 * Returns 0 when the answer says "ok"; else -errno, and the answer has one
 * sentence in "error": -EPROTO: the process has a libslab of another layout, or
 * none; -EFAULT: its memory could not be read; -EAGAIN: its list of caches changed
 * each time that it was read, or is damaged; -ENOENT: no such cache; -EINVAL: no such
 * request. Without an answer (text is NULL): -ENOMEM: no memory; -EINVAL: the reader's
 * struct_size is not one that this library knows.
 */
SLAB_API int slab_inspect(const struct slab_reader *reader, uint64_t root, const char *request,
			  struct slab_answer *answer);

SLAB_API void slab_answer_free(struct slab_answer *answer);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_INSPECT_H */
