/* SPDX-License-Identifier: MIT */
/*
 * Reading ELF. Sizes that a header claims are compared with limits before memory
 * is taken for them; offsets need no check of their own, because reading where
 * there is nothing fails.
 */
#include "elf_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * What is looked at: of a core file more mappings than any process has, and more
 * bytes of notes than ten thousand threads leave; of programs and libraries, which
 * have a dozen segments and some hundred bytes, what costs their reader nothing.
 */
static const struct {
	size_t segments, note_bytes;
} most[] = {
	[ELF_CORE] = {(size_t)1 << 22, (size_t)256 << 20},
	[ELF_FILE] = {4096, (size_t)1 << 20},
	[ELF_LOADED] = {4096, (size_t)1 << 20},
};

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#error "the ELF machine number of this architecture is missing here"
#endif

#define OWN_ORDER (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

static int read_at(const struct elf_image *image, uint64_t at, size_t size, void *to)
{
	return image->source.read(image->source.arg, at, size, to);
}

static int read_header(struct elf_image *image)
{
	Elf64_Ehdr *header = &image->header;

	if (read_at(image, image->start, EI_NIDENT, header) != 0 ||
	    memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != OWN_ORDER)
		return -ENOTSUP;
	if (read_at(image, image->start, sizeof(*header), header) != 0)
		return -EBADMSG;
	return header->e_machine == OWN_MACHINE ? 0 : -ENOTSUP;
}

/* Where there are more segments than the header can say, section 0 knows. */
static size_t count_segments(const struct elf_image *image)
{
	Elf64_Shdr section;

	if (image->header.e_phnum != PN_XNUM)
		return image->header.e_phnum;
	if (read_at(image, image->start + image->header.e_shoff, sizeof(section), &section) != 0)
		return 0;
	return section.sh_info;
}

int elf_open(struct elf_image *image, enum elf_kind kind, struct elf_source source, uint64_t start)
{
	int error;

	memset(image, 0, sizeof(*image));
	image->kind = kind;
	image->source = source;
	image->start = start;
	error = read_header(image);
	if (error)
		return error;
	image->segments = count_segments(image);
	if (image->segments == 0 || image->segments > most[kind].segments ||
	    image->header.e_phentsize != sizeof(Elf64_Phdr))
		return -EBADMSG;
	image->segment = calloc(image->segments, sizeof(*image->segment));
	if (!image->segment)
		return -ENOMEM;
	if (read_at(image, start + image->header.e_phoff, image->segments * sizeof(*image->segment),
		    image->segment) == 0)
		return 0;
	elf_close(image);
	return -EBADMSG;
}

void elf_close(struct elf_image *image)
{
	free(image->segment);
	image->segment = NULL;
}

/* The image's start is its file's start: the segment that holds offset 0 says
 * which address that was meant to be. */
uint64_t elf_bias(const struct elf_image *image)
{
	for (size_t i = 0; i < image->segments; i++) {
		const Elf64_Phdr *segment = &image->segment[i];

		if (segment->p_type == PT_LOAD && segment->p_offset < 4096)
			return image->start - (segment->p_vaddr - segment->p_offset);
	}
	return image->start;
}

/* Notes */

struct notes {
	const unsigned char *bytes;
	size_t size;
	uint64_t at; /* of the bytes in the source */
	size_t align;
};

static size_t align_up(size_t size, size_t align)
{
	return (size + align - 1) & ~(align - 1);
}

/* The note at an offset, and the offset of the next; false: there is none. */
static bool take_note(const struct notes *notes, size_t *offset, struct elf_note *note)
{
	size_t at = *offset, left = notes->size - at, head;
	Elf64_Nhdr header;

	if (left < sizeof(header))
		return false;
	memcpy(&header, notes->bytes + at, sizeof(header));
	head = align_up(sizeof(header) + header.n_namesz, notes->align);
	if (head > left || header.n_descsz > left - head)
		return false;
	*note = (struct elf_note){
		.owner = (const char *)notes->bytes + at + sizeof(header),
		.owner_size = header.n_namesz,
		.type = header.n_type,
		.descriptor = notes->bytes + at + head,
		.size = header.n_descsz,
		.at = notes->at + at + head,
	};
	head += align_up(header.n_descsz, notes->align);
	*offset = at + (head < left ? head : left);
	return true;
}

static bool each_note_of(const struct elf_image *image, const Elf64_Phdr *segment, uint64_t at,
			 bool (*fn)(const struct elf_note *note, void *arg), void *arg)
{
	struct notes notes = {
		.size = segment->p_filesz, .at = at, .align = segment->p_align == 8 ? 8 : 4};
	struct elf_note note;
	unsigned char *bytes;
	size_t offset = 0;
	bool stopped = false;

	bytes = malloc(notes.size ? notes.size : 1);
	if (!bytes)
		return false;
	notes.bytes = bytes;
	if (read_at(image, at, notes.size, bytes) == 0) {
		while (!stopped && take_note(&notes, &offset, &note))
			stopped = fn(&note, arg);
	}
	free(bytes);
	return stopped;
}

bool elf_each_note(const struct elf_image *image,
		   bool (*fn)(const struct elf_note *note, void *arg), void *arg)
{
	const bool loaded = image->kind == ELF_LOADED;
	const uint64_t bias = elf_bias(image);
	size_t left = most[image->kind].note_bytes;

	for (size_t i = 0; i < image->segments; i++) {
		const Elf64_Phdr *segment = &image->segment[i];
		uint64_t at = loaded ? bias + segment->p_vaddr : segment->p_offset;

		if (segment->p_type != PT_NOTE)
			continue;
		if (segment->p_filesz > left)
			return false;
		left -= segment->p_filesz;
		if (each_note_of(image, segment, at, fn, arg))
			return true;
	}
	return false;
}

bool elf_note_is(const struct elf_note *note, const char *owner, uint32_t type)
{
	return note->type == type && note->owner_size == strlen(owner) + 1 &&
	       memcmp(note->owner, owner, note->owner_size) == 0;
}

/* Build-ids */

static bool keep_build_id(const struct elf_note *note, void *arg)
{
	struct build_id *id = arg;

	if (!elf_note_is(note, "GNU", NT_GNU_BUILD_ID) || note->size > sizeof(id->byte))
		return false;
	id->size = note->size;
	memcpy(id->byte, note->descriptor, note->size);
	return true;
}

struct build_id elf_build_id(const struct elf_image *image)
{
	struct build_id id = {.size = 0};

	elf_each_note(image, keep_build_id, &id);
	return id;
}

bool build_ids_differ(const struct build_id *a, const struct build_id *b)
{
	return a->size && b->size && (a->size != b->size || memcmp(a->byte, b->byte, a->size) != 0);
}
