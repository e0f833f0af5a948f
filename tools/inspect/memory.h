/* SPDX-License-Identifier: MIT */
/*
 * Reading the memory of a live process, without its help, or of a core file. libslab's note leads
 * to its root in both cases (<slab/inspect.h>).
 */
#pragma once

#include <slab/inspect.h>
#include "posix.h"

struct memory;

/*
 * memory_open_process, memory_open_core: return NULL after an error message by fail(): there is no
 * such process, no permission, or no libslab in it, the process has ended, or the file is not a
 * complete core file. `socket`: the process's control socket, which reads what this user may not;
 * "": it has none. `exe`: the program; NULL: the one that the core file names.
 */
struct memory *memory_open_process(pid_t pid, const char *socket);
struct memory *memory_open_core(const char *path, const char *exe);
void memory_close(struct memory *memory);

/* The process's pid and name. The name is valid until memory_close(). */
pid_t memory_pid(const struct memory *memory);
const char *memory_command(const struct memory *memory);

/* memory_copies: how many copies of libslab have caches there; more than one if a plug-in contains
 * libslab.a. memory_copy_path: the file that contains one, from number 1 on. memory_use_copy: read
 * this one, instead of the first; false: there is none. */
unsigned memory_copies(const struct memory *memory);
const char *memory_copy_path(const struct memory *memory, unsigned number);
bool memory_use_copy(struct memory *memory, unsigned number);

/* memory_serves: does the socket of the process serve the copy that is read? */
bool memory_serves(const struct memory *memory, const char *socket);

/* memory_query: slab_inspect() of this memory. The caller frees the answer. Returns 0 or -errno. */
int memory_query(struct memory *memory, const char *request, struct slab_answer *answer);

/* memory_trouble: why the last memory_query() could not read memory, for a message; "":
 * unknown. */
const char *memory_trouble(const struct memory *memory);

/* memory_locate: the file that is mapped at an address, and the offset of the address from the
 * file's load address, as slab-symbolize takes them. NULL: no file is mapped there. */
const char *memory_locate(struct memory *memory, uint64_t address, uint64_t *ret_offset);

/* memory_file: the path of a mapping, by its number in order of addresses; NULL: there are no
 * more. */
const char *memory_file(const struct memory *memory, size_t number);

/* A file that is mapped: addresses start … end are its bytes from `offset` on. */
struct memory_mapped {
	size_t number; /* of the mapping, in order of addresses */
	uint64_t start, end, offset;
	const char *path;
};

/* memory_mapped_at: the mapping that contains an address; false: no file is mapped there. */
bool memory_mapped_at(const struct memory *memory, uint64_t address, struct memory_mapped *mapped);

/* memory_open_maps: the mapped files of a live process, for memory_mapped_at() alone. NULL, without
 * a message: they cannot be read. */
struct memory *memory_open_maps(pid_t pid);

/* memory_read: copy contiguous bytes. Returns 0 or -errno. */
int memory_read(struct memory *memory, uint64_t address, size_t size, void *to);

/* --- searching a process that stands still, or a core file ------------------------------------ */

/* A range of memory that the program may write to. */
struct memory_range {
	uint64_t start, end;
	/* It belongs to one thread: its bytes below the stack pointer are not in use. */
	bool is_stack;
};
typedef int memory_range_fn(const struct memory_range *range, void *arg);

/* A thread, with all its registers as words; or with tid 0 the words that the kernel keeps for the
 * process. */
struct memory_thread {
	pid_t tid;
	uint64_t sp;
	const uint64_t *words;
	size_t count;
};
typedef int memory_thread_fn(const struct memory_thread *thread, void *arg);

/* memory_each_range: call fn for each range that may hold pointers of the program, in order of
 * addresses, while it returns 0. memory_each_thread: for each thread. Both return what fn returned,
 * or -errno; -EBUSY: the process runs. */
int memory_each_range(struct memory *memory, memory_range_fn *fn, void *arg);
int memory_each_thread(struct memory *memory, memory_thread_fn *fn, void *arg);

/* memory_hidden: pointers of the program that neither ranges nor threads have, since only the
 * kernel knows them. */
#define MEMORY_HIDDEN_EPOLL 1u
#define MEMORY_HIDDEN_IO_URING 2u
#define MEMORY_HIDDEN_SIGNALS 4u
#define MEMORY_HIDDEN_TIMERS 8u
unsigned memory_hidden(const struct memory *memory);

/* How a process is copied. */
struct snapshot {
	double limit_s; /* the process stands still for no longer than this */
	void (*progress)(const char *what, uint64_t done, uint64_t all); /* NULL: no calls */
	/* Results. */
	uint64_t still_us; /* for how long it stood still */
	uint64_t bytes; /* that were copied */
};

/* memory_open_snapshot: stop a live process, copy its memory, and let it go on. NULL after an error
 * message by fail(). */
struct memory *memory_open_snapshot(pid_t pid, struct snapshot *snapshot);

/* memory_look: as memory_open_process(), without a message. memory_uses_libslab: has a live process
 * created caches with a libslab of a known layout? Cheap enough to call for all processes. */
struct memory *memory_look(pid_t pid);
bool memory_uses_libslab(pid_t pid);
