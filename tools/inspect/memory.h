/* SPDX-License-Identifier: MIT */
/*
 * Reading the memory of a live process, without its help, or of a core file. libslab's note leads
 * to its root in both cases (<slab/inspect.h>).
 */
#ifndef INSPECT_MEMORY_H
#define INSPECT_MEMORY_H

#include <slab/inspect.h>
#include <stdbool.h>
#include <sys/types.h>

struct memory;

/*
 * memory_open_process, memory_open_core: return NULL after an error message by fail(): there is no
 * such process, no permission, or no libslab in it, the process has ended, or the file is not a
 * complete core file. `exe`: the program; NULL: the one that the core file names.
 */
struct memory *memory_open_process(pid_t pid);
struct memory *memory_open_core(const char *path, const char *exe);
void memory_close(struct memory *memory);

/* The process's pid and name. The name is valid until memory_close(). */
pid_t memory_pid(const struct memory *memory);
const char *memory_command(const struct memory *memory);

/* memory_query: slab_inspect() of this memory. The caller frees the answer. Returns 0 or -errno. */
int memory_query(struct memory *memory, const char *request, struct slab_answer *answer);

/* memory_trouble: why the last memory_query() could not read memory, for a message; "":
 * unknown. */
const char *memory_trouble(const struct memory *memory);

/* memory_locate: the file that is mapped at an address, and the offset of the address from the
 * file's load address, as slab-symbolize takes them. NULL: no file is mapped there. */
const char *memory_locate(struct memory *memory, uint64_t address, uint64_t *ret_offset);

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

/* memory_uses_libslab: has a live process created caches with a libslab of a known layout? Cheap
 * enough to call for all processes. */
bool memory_uses_libslab(pid_t pid);

#endif /* INSPECT_MEMORY_H */
