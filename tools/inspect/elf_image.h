/* SPDX-License-Identifier: MIT */
/*
 * ELF headers, segments and notes. libelf reads files. It cannot read an image in the memory of a
 * process in pieces, so this code reads images. Every value of both is checked before it is used.
 */
#pragma once

#include <gelf.h>
#include "posix.h"

/* An image in memory. */
struct elf_image {
	/* Read all `size` bytes from an address on. Returns 0 or -errno. */
	int (*read)(void *arg, uint64_t address, size_t size, void *to);
	void *arg;
	uint64_t start; /* the address of the header */
	Elf64_Ehdr header;
	Elf64_Phdr *segment;
	size_t segments;
};

/*
 * elf_image_open: read header and segments from an address on. Returns 0, or -ENOEXEC: not an ELF
 * image; -ENOTSUP: an image for another machine; -EBADMSG: its segments cannot be read, or are more
 * than programs and libraries have; -ENOMEM. The caller closes the image only after 0.
 */
int elf_image_open(struct elf_image *image,
		   int (*read)(void *arg, uint64_t address, size_t size, void *to), void *arg,
		   uint64_t start);
void elf_image_close(struct elf_image *image);

/* elf_image_bias: the offset to add to addresses in the image. */
uint64_t elf_image_bias(const struct elf_image *image);

/* A file. All zero: not open. */
struct elf_file {
	Elf *elf;
	GElf_Ehdr header;
	size_t segments;
};

/* elf_file_open: as elf_image_open(). The caller keeps the file descriptor, and closes it after
 * elf_file_close(). */
int elf_file_open(struct elf_file *file, int fd);
void elf_file_close(struct elf_file *file);

/* One note; owner and descriptor are valid during the call. */
struct elf_note {
	const char *owner; /* owner_size bytes, the zero included */
	size_t owner_size;
	uint32_t type;
	const unsigned char *descriptor;
	size_t size;
	uint64_t at; /* of an image in memory: the descriptor's address */
};

/*
 * elf_image_each_note, elf_file_each_note: call fn for every note until it returns true. They
 * return true if it did. Both stop after 1 MiB of notes, or 256 MiB of a core file.
 */
bool elf_image_each_note(const struct elf_image *image,
			 bool (*fn)(const struct elf_note *note, void *arg), void *arg);
bool elf_file_each_note(const struct elf_file *file,
			bool (*fn)(const struct elf_note *note, void *arg), void *arg);

bool elf_note_is(const struct elf_note *note, const char *owner, uint32_t type);

/* The build-id; size 0: there is none. */
struct build_id {
	size_t size;
	unsigned char byte[64];
};
struct build_id build_id_of_image(const struct elf_image *image);
struct build_id build_id_of_file(int fd);

/* build_ids_differ: both exist and are not equal. */
bool build_ids_differ(const struct build_id *a, const struct build_id *b);
