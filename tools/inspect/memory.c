/* SPDX-License-Identifier: MIT */
/*
 * The part of reading memory that is common to live processes and core files: reading pieces,
 * mapped files and their load addresses, and finding the root by the note.
 *
 * Pieces that are less than a page apart are read together with the bytes between them, and
 * then picked out: process_vm_readv() takes some 430 ns for each piece, however small, and
 * copies a whole page in the same time. Pieces of 128 bytes then cost 45 ns each at a
 * distance of 256 bytes and 225 ns at 2176; at 4096 there is no difference.
 */
#include "memory_source.h"
#include "array.h"
#include "fail.h"

#define NEAR_BYTES ((size_t)4096)
#define SPAN_BYTES ((size_t)256 << 10)

/*
 * Limits of the search for the root: enough for the headers of all libraries that a process can
 * map, and for more roots than a process has. They are needed since a process may be built to make
 * the search slow, and listing processes searches all of them.
 */
#define SEARCH_BYTES ((size_t)64 << 20)
#define SEARCH_NOTES 64

/* Reading */

static int read_whole(void *memory, uint64_t address, size_t size, void *to)
{
	struct memory *whole = memory;

	return whole->source->read(whole, address, size, to);
}

static int read_spans(struct memory *memory, uint64_t address, size_t size, size_t stride,
		      size_t count, unsigned char *to)
{
	const size_t at_once = (SPAN_BYTES - size) / stride + 1;
	unsigned char *span = malloc(SPAN_BYTES);
	int error = span ? 0 : -ENOMEM;

	while (!error && count) {
		size_t pieces = count < at_once ? count : at_once;

		error = memory->source->read(memory, address, (pieces - 1) * stride + size, span);
		for (size_t i = 0; !error && i < pieces; i++)
			memcpy(to + i * size, span + i * stride, size);
		to += pieces * size;
		address += pieces * stride;
		count -= pieces;
	}
	free(span);
	return error;
}

int memory_read_pieces(void *arg, uint64_t address, size_t size, size_t stride, size_t count,
		       void *to)
{
	struct memory *memory = arg;
	int error = 0;

	if (size == 0 || count == 0)
		return 0;
	if (count > 1 && stride < size)
		return -EINVAL;
	if (count == 1 || stride == size)
		return memory->source->read(memory, address, size * count, to);
	if (size <= NEAR_BYTES && stride < NEAR_BYTES)
		return read_spans(memory, address, size, stride, count, to);
	if (memory->source->read_pieces)
		return memory->source->read_pieces(memory, address, size, stride, count, to);
	for (size_t i = 0; !error && i < count; i++)
		error = memory->source->read(memory, address + i * stride, size,
					     (char *)to + i * size);
	return error;
}

/* Mappings */

bool memory_add_mapping(struct memory *memory, const struct mapping *mapping, const char *path)
{
	struct mapping *mappings = array_with_room(memory->mapping, memory->mappings,
						   &memory->capacity, sizeof(*mappings));

	if (!mappings)
		return false;
	memory->mapping = mappings;
	memory->mapping[memory->mappings] = *mapping;
	memory->mapping[memory->mappings].path = strdup(path);
	return memory->mapping[memory->mappings++].path;
}

void memory_free_mappings(struct memory *memory)
{
	for (size_t i = 0; i < memory->mappings; i++)
		free(memory->mapping[i].path);
	free(memory->mapping);
	memory->mapping = NULL;
	memory->mappings = 0;
}

struct mapping *memory_find_mapping(const struct memory *memory, uint64_t address)
{
	size_t low = 0, high = memory->mappings;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct mapping *mapping = &memory->mapping[middle];

		if (address < mapping->start)
			high = middle;
		else if (address >= mapping->end)
			low = middle + 1;
		else
			return mapping;
	}
	return NULL;
}

const char *memory_file(const struct memory *memory, size_t number)
{
	return number < memory->mappings ? memory->mapping[number].path : NULL;
}

bool memory_mapped_at(const struct memory *memory, uint64_t address, struct memory_mapped *mapped)
{
	const struct mapping *mapping = memory_find_mapping(memory, address);

	if (!mapping)
		return false;
	*mapped = (struct memory_mapped){
		.number = (size_t)(mapping - memory->mapping),
		.start = mapping->start,
		.end = mapping->end,
		.offset = mapping->offset,
		.path = mapping->path,
	};
	return true;
}

/* Compute the load address from the file's ELF header, which is mapped at offset 0. */
static void find_bias(struct memory *memory, struct mapping *mapping)
{
	struct elf_image image;

	mapping->bias_state = BIAS_NONE;
	if (elf_image_open(&image, read_whole, memory, mapping->start) != 0)
		return;
	mapping->bias = elf_image_bias(&image);
	mapping->bias_state = BIAS_KNOWN;
	elf_image_close(&image);
}

const char *memory_locate(struct memory *memory, uint64_t address, uint64_t *ret_offset)
{
	struct mapping *mapping = memory_find_mapping(memory, address), *first = mapping;

	while (first && first->offset != 0)
		first = first > memory->mapping && strcmp(first[-1].path, mapping->path) == 0
				? first - 1
				: NULL;
	if (!first)
		return NULL;
	if (first->bias_state == BIAS_UNKNOWN)
		find_bias(memory, first);
	if (first->bias_state != BIAS_KNOWN)
		return NULL;
	*ret_offset = address - first->bias;
	return mapping->path;
}

/* From notes to the root */

struct search {
	struct memory *memory;
	size_t bytes;    /* that may still be read of headers and notes */
	size_t notes;    /* that were found */
	size_t accepted; /* whose roots can be read */
	const char *path; /* the file that is searched */
	uint64_t root;    /* the first accepted, or the first */
};

static int read_searched(void *arg, uint64_t address, size_t size, void *to)
{
	struct search *search = arg;

	if (size > search->bytes)
		return -EFAULT;
	search->bytes -= size;
	return read_whole(search->memory, address, size, to);
}

/* Query a root; returns 0 if it answers the request. The caller frees the answer in any case. */
static int query_root(struct memory *memory, uint64_t root, const char *request,
		      struct slab_answer *answer)
{
	struct slab_reader reader = {.struct_size = sizeof(reader),
				     .read = memory_read_pieces,
				     .arg = memory,
				     .pid = memory->pid,
				     .command = memory->command};
	struct timespec now;

	memory->trouble[0] = '\0';
	reader.now_ms = memory->now_ms;
	if (memory->source->live && clock_gettime(CLOCK_MONOTONIC, &now) == 0)
		reader.now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	*answer = (struct slab_answer){.text = NULL};
	return slab_inspect(&reader, root, request, answer);
}

/* Can the root be read? *ret_has_caches: does it have caches? */
static bool accepts(struct memory *memory, uint64_t root, bool *ret_has_caches)
{
	struct slab_answer answer;
	int error = query_root(memory, root, "ping", &answer);

	*ret_has_caches = error == 0 && strstr(answer.text, "\"has_caches\":true");
	slab_answer_free(&answer);
	return error == 0;
}

/* A file may be mapped twice. */
static void add_copy(struct memory *memory, uint64_t root, const char *path)
{
	for (unsigned i = 0; i < memory->copies; i++)
		if (memory->copy[i].root == root)
			return;
	memory->copy[memory->copies++] =
		(struct memory_copy){root, is_printable(path) ? path : "?"};
}

static bool take_note(const struct elf_note *note, void *arg)
{
	struct search *search = arg;
	struct slab_inspect_note content;
	struct memory *memory = search->memory;
	bool has_caches;
	uint64_t root;

	if (!elf_note_is(note, SLAB_INSPECT_NOTE_OWNER, SLAB_INSPECT_NOTE_TYPE) ||
	    note->size < sizeof(content))
		return false;
	memcpy(&content, note->descriptor, sizeof(content));
	root = note->at + (uint64_t)content.offset;
	if (search->notes++ == 0)
		search->root = root;
	if (accepts(memory, root, &has_caches)) {
		if (search->accepted++ == 0)
			search->root = root;
		if (has_caches)
			add_copy(memory, root, search->path);
	}
	return memory->copies == MEMORY_COPIES || search->notes == SEARCH_NOTES;
}

int memory_find_root(struct memory *memory)
{
	struct search search = {.memory = memory, .bytes = SEARCH_BYTES};
	bool done = false;

	for (size_t i = 0; i < memory->mappings && !done; i++) {
		const struct mapping *mapping = &memory->mapping[i];
		struct elf_image image;

		if (mapping->offset != 0 ||
		    elf_image_open(&image, read_searched, &search, mapping->start) != 0)
			continue;
		search.path = mapping->path;
		done = elf_image_each_note(&image, take_note, &search);
		elf_image_close(&image);
	}
	memory->root = search.root;
	if (memory_use_copy(memory, 1))
		return 0;
	if (search.accepted)
		return -ENODATA;
	return search.notes ? -EPROTO : -ENOENT;
}

/* Copies */

unsigned memory_copies(const struct memory *memory)
{
	return memory->copies;
}

const char *memory_copy_path(const struct memory *memory, unsigned number)
{
	return memory->copy[number - 1].path;
}

bool memory_use_copy(struct memory *memory, unsigned number)
{
	if (number > memory->copies)
		return false;
	memory->root = memory->copy[number - 1].root;
	return true;
}

/* The rest */

void memory_close(struct memory *memory)
{
	if (memory)
		memory->source->close(memory);
}

pid_t memory_pid(const struct memory *memory)
{
	return memory->pid;
}

const char *memory_command(const struct memory *memory)
{
	return memory->command;
}

int memory_query(struct memory *memory, const char *request, struct slab_answer *answer)
{
	return query_root(memory, memory->root, request, answer);
}

const char *memory_trouble(const struct memory *memory)
{
	return memory->trouble;
}

unsigned memory_hidden(const struct memory *memory)
{
	return memory->hidden;
}

int memory_read(struct memory *memory, uint64_t address, size_t size, void *to)
{
	return memory->source->read(memory, address, size, to);
}

int memory_each_range(struct memory *memory, memory_range_fn *fn, void *arg)
{
	return memory->source->each_range ? memory->source->each_range(memory, fn, arg) : -EBUSY;
}

int memory_each_thread(struct memory *memory, memory_thread_fn *fn, void *arg)
{
	return memory->source->each_thread ? memory->source->each_thread(memory, fn, arg) : -EBUSY;
}
