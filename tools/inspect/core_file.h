/* SPDX-License-Identifier: MIT */
/*
 * A core file: the memory of a process that is in it, and what its notes say about the process.
 */
#pragma once

#include "elf_image.h"

/* Addresses start … end are in the core file from `offset` on. */
struct core_segment {
	uint64_t start, end, offset;
	bool writable;
	bool is_stack; /* of one thread: a guard page lies below, or it is the first thread's */
};

struct core_file {
	int fd; /* 0: not open */
	struct elf_file elf;
	struct core_segment *segment; /* ordered by address, without overlaps */
	size_t segments, last;        /* last: found last */
	int pid;
	char command[17];
	uint64_t program_headers; /* an address inside the program, 0: not known */
	uint64_t first_stack; /* an address inside the first thread's stack, 0: not known */
};

/* A file that was mapped. */
struct core_mapping {
	uint64_t start, end, offset;
	const char *path;
};

/* core_file_open: false after an error message by fail(). The caller calls core_file_close() in
 * both cases; it accepts a struct that is all zero. */
bool core_file_open(struct core_file *core, const char *path);
void core_file_close(struct core_file *core);

/* core_file_each_mapping: call fn for every file that was mapped, in order of addresses,
 * while it returns true. False after an error message by fail(). */
bool core_file_each_mapping(const struct core_file *core, const char *path,
			    bool (*fn)(const struct core_mapping *mapping, void *arg), void *arg);

/* Registers of a thread: those of one note, as words. */
struct core_registers {
	int tid;     /* 0: the thread of the note before */
	uint64_t sp; /* 0: the note has none */
	const uint64_t *words;
	size_t count;
};

/* core_file_each_registers: call fn for each note with registers, while it returns 0. Returns what
 * fn returned, or -ENOMEM. */
int core_file_each_registers(const struct core_file *core,
			     int (*fn)(const struct core_registers *registers, void *arg),
			     void *arg);

/* core_file_read_some: read up to `size` bytes from an address on, until a byte is missing in the
 * file. Returns their number, or -EFAULT: the file could not be read. */
ssize_t core_file_read_some(struct core_file *core, uint64_t address, size_t size, void *to);

/* core_file_read: read all `size` bytes. Returns 0 or -EFAULT. */
int core_file_read(struct core_file *core, uint64_t address, size_t size, void *to);

/* core_file_gap: the number of bytes, up to `size`, that are missing from an address on. */
uint64_t core_file_gap(const struct core_file *core, uint64_t address, uint64_t size);

/* core_read_at: pread() of all `size` bytes. Returns 0 or -EFAULT. */
int core_read_at(int fd, uint64_t at, size_t size, void *to);
