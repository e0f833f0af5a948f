/* SPDX-License-Identifier: MIT */
/*
 * ELF headers, segments and notes. libelf reads files; an image in the memory of a
 * process, which libelf cannot read in pieces, is read here. Every value of either is
 * checked before it is used.
 */
#ifndef INSPECT_ELF_IMAGE_H
#define INSPECT_ELF_IMAGE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An image in memory. */
struct elf_image {
	/* Reads from an address: 0, or -errno when not all of it can be read. */
	int (*read)(void *arg, uint64_t address, size_t size, void *to);
	void *arg;
	uint64_t start; /* the address of the header */
	Elf64_Ehdr header;
	Elf64_Phdr *segment;
	size_t segments;
};

/*
 * elf_image_open: read header and segments from an address on. 0; -ENOEXEC: no ELF
 * image; -ENOTSUP: one of another machine; -EBADMSG: its segments cannot be read, or
 * are more than a program or library ever has; -ENOMEM. After 0, and only then, the
 * caller closes it.
 */
int elf_image_open(struct elf_image *image,
		   int (*read)(void *arg, uint64_t address, size_t size, void *to), void *arg,
		   uint64_t start);
void elf_image_close(struct elf_image *image);

/* elf_image_bias: the offset to add to addresses in the image. */
uint64_t elf_image_bias(const struct elf_image *image);

/* A file; one that was not opened is all zero. */
struct elf_file {
	Elf *elf;
	GElf_Ehdr header;
	size_t segments;
};

/* elf_file_open: as elf_image_open(). The file descriptor stays the caller's and
 * outlives the elf_file. */
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
 * elf_image_each_note, elf_file_each_note: call fn for every note until it returns true;
 * true if it did. Both stop after 1 MiB of notes, or 256 MiB of a core file.
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

#endif /* INSPECT_ELF_IMAGE_H */
