/* SPDX-License-Identifier: MIT */
/*
 * Reading ELF. Sizes in a header are compared with limits before memory is allocated for
 * them. Offsets need no check of their own: a read outside of the image fails.
 */
#include "elf_image.h"

/*
 * Limits of what is read. Programs and libraries have a dozen segments and some hundred bytes of
 * notes. A core file has at most as many segments as the kernel allows mappings, and notes of up to
 * ten thousand threads. One segment has the notes; more than a few such segments are a forgery.
 */
#define IMAGE_SEGMENTS 4096
#define IMAGE_NOTE_BYTES ((size_t)1 << 20)
#define CORE_SEGMENTS ((size_t)1 << 22)
#define CORE_NOTE_BYTES ((size_t)256 << 20)
#define NOTE_SEGMENTS 64

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#error "the ELF machine number of this architecture is missing here"
#endif

#define OWN_ORDER (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

static bool is_own_machine(const unsigned char *ident, unsigned machine)
{
	return ident[EI_CLASS] == ELFCLASS64 && ident[EI_DATA] == OWN_ORDER &&
	       machine == OWN_MACHINE;
}

/* Images in memory */

static int read_header(struct elf_image *image)
{
	Elf64_Ehdr *header = &image->header;

	if (image->read(image->arg, image->start, sizeof(*header), header) != 0 ||
	    memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	return is_own_machine(header->e_ident, header->e_machine) ? 0 : -ENOTSUP;
}

int elf_image_open(struct elf_image *image,
		   int (*read)(void *arg, uint64_t address, size_t size, void *to), void *arg,
		   uint64_t start)
{
	int error;

	*image = (struct elf_image){.read = read, .arg = arg, .start = start};
	error = read_header(image);
	if (error)
		return error;
	image->segments = image->header.e_phnum;
	if (image->segments == 0 || image->segments > IMAGE_SEGMENTS ||
	    image->header.e_phentsize != sizeof(Elf64_Phdr))
		return -EBADMSG;
	image->segment = calloc(image->segments, sizeof(*image->segment));
	if (!image->segment)
		return -ENOMEM;
	if (read(arg, start + image->header.e_phoff, image->segments * sizeof(*image->segment),
		 image->segment) == 0)
		return 0;
	elf_image_close(image);
	return -EBADMSG;
}

void elf_image_close(struct elf_image *image)
{
	free(image->segment);
	image->segment = NULL;
}

/* The image starts where its file starts: the segment that contains offset 0 has the address
 * for which the file was linked. */
uint64_t elf_image_bias(const struct elf_image *image)
{
	for (size_t i = 0; i < image->segments; i++) {
		const Elf64_Phdr *segment = &image->segment[i];

		if (segment->p_type == PT_LOAD && segment->p_offset < 4096)
			return image->start - (segment->p_vaddr - segment->p_offset);
	}
	return image->start;
}

/* Notes in memory */

struct notes {
	const unsigned char *bytes;
	size_t size;
	uint64_t at; /* of the bytes in memory */
	size_t align;
};

static size_t align_up(size_t size, size_t align)
{
	return (size + align - 1) & ~(align - 1);
}

/* The note at an offset, and the offset of the next one; false: no note. */
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
	if (image->read(image->arg, at, notes.size, bytes) == 0) {
		while (!stopped && take_note(&notes, &offset, &note))
			stopped = fn(&note, arg);
	}
	free(bytes);
	return stopped;
}

bool elf_image_each_note(const struct elf_image *image,
			 bool (*fn)(const struct elf_note *note, void *arg), void *arg)
{
	const uint64_t bias = elf_image_bias(image);
	size_t left = IMAGE_NOTE_BYTES;

	for (size_t i = 0; i < image->segments; i++) {
		const Elf64_Phdr *segment = &image->segment[i];

		if (segment->p_type != PT_NOTE)
			continue;
		if (segment->p_filesz > left)
			return false;
		left -= segment->p_filesz;
		if (each_note_of(image, segment, bias + segment->p_vaddr, fn, arg))
			return true;
	}
	return false;
}

/* Files */

static int check_file(struct elf_file *file)
{
	if (elf_kind(file->elf) != ELF_K_ELF)
		return -ENOEXEC;
	if (!gelf_getehdr(file->elf, &file->header))
		return -EBADMSG;
	if (!is_own_machine(file->header.e_ident, file->header.e_machine))
		return -ENOTSUP;
	/* libelf counts the segments that the file has room for. */
	if (elf_getphdrnum(file->elf, &file->segments) != 0 || file->segments == 0 ||
	    (file->header.e_phnum != PN_XNUM && file->header.e_phnum != file->segments) ||
	    file->segments > (file->header.e_type == ET_CORE ? CORE_SEGMENTS : IMAGE_SEGMENTS))
		return -EBADMSG;
	return 0;
}

/* ELF_C_READ does not map the file: truncating the file then causes an error and no SIGBUS. */
int elf_file_open(struct elf_file *file, int fd)
{
	int error;

	*file = (struct elf_file){.elf = NULL};
	elf_version(EV_CURRENT);
	file->elf = elf_begin(fd, ELF_C_READ, NULL);
	error = file->elf ? check_file(file) : -EBADMSG;
	if (error)
		elf_file_close(file);
	return error;
}

void elf_file_close(struct elf_file *file)
{
	elf_end(file->elf);
	*file = (struct elf_file){.elf = NULL};
}

static bool each_note_in(Elf_Data *data, bool (*fn)(const struct elf_note *note, void *arg),
			 void *arg)
{
	size_t offset = 0, owner, descriptor;
	GElf_Nhdr header;

	while ((offset = gelf_getnote(data, offset, &header, &owner, &descriptor)) > 0) {
		const struct elf_note note = {.owner = (const char *)data->d_buf + owner,
					      .owner_size = header.n_namesz,
					      .type = header.n_type,
					      .descriptor = (const unsigned char *)data->d_buf +
							    descriptor,
					      .size = header.n_descsz};

		if (fn(&note, arg))
			return true;
	}
	return false;
}

bool elf_file_each_note(const struct elf_file *file,
			bool (*fn)(const struct elf_note *note, void *arg), void *arg)
{
	size_t left = file->header.e_type == ET_CORE ? CORE_NOTE_BYTES : IMAGE_NOTE_BYTES;
	size_t segments = NOTE_SEGMENTS;
	GElf_Phdr segment;

	for (size_t i = 0; segments && i < file->segments; i++) {
		Elf_Data *data;

		if (!gelf_getphdr(file->elf, (int)i, &segment) || segment.p_type != PT_NOTE)
			continue;
		segments--;
		if (segment.p_filesz > left)
			return false;
		left -= segment.p_filesz;
		data = elf_getdata_rawchunk(file->elf, (int64_t)segment.p_offset, segment.p_filesz,
					    segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (data && each_note_in(data, fn, arg))
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

struct build_id build_id_of_image(const struct elf_image *image)
{
	struct build_id id = {.size = 0};

	elf_image_each_note(image, keep_build_id, &id);
	return id;
}

struct build_id build_id_of_file(int fd)
{
	struct build_id id = {.size = 0};
	struct elf_file file;

	if (elf_file_open(&file, fd) == 0) {
		elf_file_each_note(&file, keep_build_id, &id);
		elf_file_close(&file);
	}
	return id;
}

bool build_ids_differ(const struct build_id *a, const struct build_id *b)
{
	return a->size && b->size && (a->size != b->size || memcmp(a->byte, b->byte, a->size) != 0);
}
