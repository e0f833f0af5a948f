/* SPDX-License-Identifier: MIT */
/*
 * The interface between memory.c and the sources of memory (memory_process.c, memory_socket.c,
 * memory_core.c, memory_snapshot.c): the mapped files, and functions that read.
 */
#pragma once

#include "elf_image.h"
#include "memory.h"

/* Addresses start … end are the bytes of a file from `offset` on. */
struct mapping {
	uint64_t start, end, offset;
	char *path;
	uint64_t bias; /* of the ELF file that begins here; see memory_locate() */
	enum { BIAS_UNKNOWN, BIAS_NONE, BIAS_KNOWN } bias_state;
};

struct memory;

struct memory_source {
	/* Copy contiguous bytes; 0, or -errno with perhaps a reason in memory->trouble. */
	int (*read)(struct memory *memory, uint64_t address, size_t size, void *to);
	/* The same for pieces that are a page or more apart; NULL: by read(), one by one. */
	int (*read_pieces)(struct memory *memory, uint64_t address, size_t size, size_t stride,
			   size_t count, void *to);
	void (*close)(struct memory *memory); /* frees the memory */
	/* What may hold pointers of the program: see memory_each_range() and memory_each_thread().
	 * NULL: the process runs, and cannot be searched. */
	int (*each_range)(struct memory *memory, memory_range_fn *fn, void *arg);
	int (*each_thread)(struct memory *memory, memory_thread_fn *fn, void *arg);
	bool live; /* the process is alive: its time goes on, and it may end */
};

/* A copy of libslab that has caches. */
struct memory_copy {
	uint64_t root;
	const char *path; /* of the file that contains it */
};

#define MEMORY_COPIES 8

struct memory {
	const struct memory_source *source;
	pid_t pid, thread; /* a live process's thread whose memory is read */
	char command[64];
	struct mapping *mapping; /* of files alone, ordered by address */
	size_t mappings, capacity;
	struct memory_copy copy[MEMORY_COPIES];
	unsigned copies;
	uint64_t root; /* of the copy that is read */
	uint64_t now_ms; /* unless it is live: when its memory was copied; 0: not known */
	unsigned hidden; /* memory_hidden() */
	char trouble[512];
	int socket; /* memory_socket.c */
};

/* memory_add_mapping: add a mapping; the calls are in order of addresses. false: no memory. */
bool memory_add_mapping(struct memory *memory, const struct mapping *mapping, const char *path);
void memory_free_mappings(struct memory *memory);

/* memory_find_mapping: the mapping that contains an address, or NULL. */
struct mapping *memory_find_mapping(const struct memory *memory, uint64_t address);

/* memory_use_socket: read through the process's control socket from now on, at this path, and set
 * memory->root. Returns 0 or -errno; -ENODATA: there are no caches. */
int memory_use_socket(struct memory *memory, const char *path);

/* memory_read_pieces: struct slab_reader's read() for a struct memory. */
int memory_read_pieces(void *memory, uint64_t address, size_t size, size_t stride, size_t count,
		       void *to);

/*
 * memory_find_root: set memory->root to the root that the notes of the mapped files lead to.
 * Returns 0, or -ENOENT: there is no note; -ENODATA: there are no caches; -EPROTO: none of the
 * roots can be read by this build, and memory_query() reports why.
 */
int memory_find_root(struct memory *memory);
