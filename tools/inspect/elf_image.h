/* SPDX-License-Identifier: MIT */
/*
 * ELF headers, segments and notes, out of a file or out of memory: whatever can
 * be read at an offset. Everything is checked before it is believed.
 */
#ifndef INSPECT_ELF_IMAGE_H
#define INSPECT_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where an image is read from: 0, or -errno when not all of it can be read. */
struct elf_source {
	int (*read)(void *arg, uint64_t at, size_t size, void *to);
	void *arg;
};

/* What an image is; a core file may be far larger than the others. */
enum elf_kind {
	ELF_CORE,   /* a core file */
	ELF_FILE,   /* the file of a program or library */
	ELF_LOADED, /* one of these in the memory of a process */
};

struct elf_image {
	enum elf_kind kind;
	struct elf_source source;
	uint64_t start; /* where the header is: 0 in a file, an address in memory */
	Elf64_Ehdr header;
	Elf64_Phdr *segment;
	size_t segments;
};

/*
 * elf_open: read header and segments. 0; -ENOEXEC: no ELF file; -ENOTSUP: one of
 * another machine; -EBADMSG: its segments cannot be read, or are more than such an
 * image ever has; -ENOMEM. After 0, and only then, the caller closes it.
 */
int elf_open(struct elf_image *image, enum elf_kind kind, struct elf_source source, uint64_t start);
void elf_close(struct elf_image *image);

/* elf_bias: what is to be added to the image's addresses, for one that lies in
 * memory from `start` on. */
uint64_t elf_bias(const struct elf_image *image);

/* One note; the descriptor is valid during the call. */
struct elf_note {
	const char *owner; /* owner_size bytes, the zero included */
	size_t owner_size;
	uint32_t type;
	const unsigned char *descriptor;
	size_t size;
	uint64_t at; /* where the descriptor is, in the source */
};

/*
 * elf_each_note: call fn for every note of an image until it returns true, which
 * is then returned. Notes of more bytes in all than such an image ever has are not
 * looked at: 1 MiB, 256 MiB of a core file.
 */
bool elf_each_note(const struct elf_image *image,
		   bool (*fn)(const struct elf_note *note, void *arg), void *arg);

bool elf_note_is(const struct elf_note *note, const char *owner, uint32_t type);

/* The build-id; size 0: there is none. */
struct build_id {
	size_t size;
	unsigned char byte[64];
};
struct build_id elf_build_id(const struct elf_image *image);

/* build_ids_differ: both are there and are not equal. */
bool build_ids_differ(const struct build_id *a, const struct build_id *b);

#endif /* INSPECT_ELF_IMAGE_H */
