/* SPDX-License-Identifier: MIT */
/*
 * The memory of a process, read without its help: of a live process, or from a core file.
 * Both find libslab's root by its note (<slab/inspect.h>).
 */
#ifndef INSPECT_MEMORY_H
#define INSPECT_MEMORY_H

#include <slab/inspect.h>
#include <stdbool.h>
#include <sys/types.h>

struct memory;

/*
 * memory_open_process, memory_open_core: NULL after an error message by fail(): no such
 * process, no permission, the process ended, not a core file, a truncated one, no libslab.
 * `exe`: the program; NULL: the one that the core file names.
 */
struct memory *memory_open_process(pid_t pid);
struct memory *memory_open_core(const char *path, const char *exe);
void memory_close(struct memory *memory);

/* Of the process; the name is valid until it is closed. */
pid_t memory_pid(const struct memory *memory);
const char *memory_command(const struct memory *memory);

/* memory_query: slab_inspect() of it; the answer is the caller's. 0 or -errno. */
int memory_query(struct memory *memory, const char *request, struct slab_answer *answer);

/* memory_trouble: why the last memory_query() could not read memory, for a message; "":
 * unknown. */
const char *memory_trouble(const struct memory *memory);

/* memory_locate: the file that is mapped at an address, and the address's offset
 * from where that file is loaded, as slab-symbolize takes them; NULL: none. */
const char *memory_locate(struct memory *memory, uint64_t address, uint64_t *ret_offset);

/* memory_uses_libslab: whether a live process has created caches with a libslab of a known
 * layout; cheap. */
bool memory_uses_libslab(pid_t pid);

#endif /* INSPECT_MEMORY_H */
