/* SPDX-License-Identifier: MIT */
/*
 * The library libslab_inspect reads the caches of a process from its memory, without its help, also
 * of one that hangs, that is stopped, or that left a core file. Programs link it with
 * -lslab_inspect; it needs no libslab.so, but is of the same build as that of the process.
 *
 * The caller provides a function that reads memory, and the address of the process's *root*, the
 * table from which the library finds everything else. It takes no lock and stops no thread of the
 * process. Changes during the inspection may or may not be in the answer; in a busy process,
 * numbers that belong together may differ by such changes.
 *
 * <slab/slab.h> defines the conventions of errors and safety.
 */
#ifndef SLAB_INSPECT_H
#define SLAB_INSPECT_H

#include <slab/slab.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * An ELF note of this owner and type leads to the root of slab_inspect(). The note is in the object
 * that libslab is part of (libslab.so, or a program that is linked statically), in a segment that
 * is loaded into memory. The note's descriptor is struct slab_inspect_note: the root lies `offset`
 * bytes from the first byte of the descriptor.
 */
#define SLAB_INSPECT_NOTE_OWNER "libslab"
#define SLAB_INSPECT_NOTE_TYPE 1

/* The note's descriptor (slab_inspect()). */
struct slab_inspect_note {
	int64_t offset;
};

/* Reads the memory of a process. */
struct slab_reader {
	size_t struct_size; /* set by the caller: sizeof(struct slab_reader) */
	/*
	 * Copy `count` pieces of `size` bytes to `to`, one after the other. The first piece is at
	 * `address`, each further one `stride` bytes after the previous one. `size` and `count` are
	 * never 0.
	 * Returns 0, or -errno if a piece cannot be read.
	 */
	int (*read)(void *arg, uint64_t address, size_t size, size_t stride, size_t count,
		    void *to);
	void *arg;           /* passed to read() */
	int pid;             /* the process's id, for answers */
	const char *command; /* its name, for answers; NULL: unknown */
	uint64_t now_ms;     /* its CLOCK_MONOTONIC in milliseconds; 0: unknown, as for a core
			        file: ages are then relative to the last recorded operation */
};

/* A JSON document (docs/schema). */
struct slab_answer {
	char *text; /* length bytes, ending in a newline, and a zero byte after them */
	size_t length;
	size_t mapped; /* for slab_answer_free() */
};

/*
 * slab_inspect: answer a request from memory.
 *
 * @root     address of the root
 * @request  "ping", "stats", "slabs [NAME]", "traces allocated|freed SINCE [NAME]",
 *           "profile", "waste", "objects [NAME]", "object ADDRESS", "regions", or "validate
 *           [NAME]", which needs a process that stands still, or a core file. Without a name, one
 *           pass answers for all caches
 * @answer   set by the function; the caller frees it with slab_answer_free(), also after an error
 *
 * errno has no meaning after the call.
 *
 * Returns 0 if the answer has "ok": true, or an error that the answer's "error" explains:
 *   -EPROTO  the process has a libslab of another layout, or none
 *   -EFAULT  its memory could not be read
 *   -EAGAIN  its list of caches changed during each attempt to read it, or is damaged
 *   -ENOENT  no such cache
 *   -EINVAL  no such request
 * With these there is no answer, and text is NULL:
 *   -ENOMEM  no memory
 *   -EINVAL  the reader's struct_size is not one that this library knows
 * MT-safe if the reader is, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_inspect(const struct slab_reader *reader, uint64_t root, const char *request,
			  struct slab_answer *answer);

/* slab_answer_free: free an answer, and set its members to 0. An answer without text is
 * allowed. MT-safe, fork-safe, cancel-safe, not async-signal-safe. */
SLAB_API void slab_answer_free(struct slab_answer *answer);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_INSPECT_H */
